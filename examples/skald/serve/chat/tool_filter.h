// SPDX-License-Identifier: Apache-2.0
//
// Holds calls of tools to their schemas: a filter that lets a model write what it likes until it begins a call, and
// then a call that fits, in the form that the model was trained on.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_CHAT_TOOL_FILTER_H_
#define SKALD_EXAMPLES_SKALD_SERVE_CHAT_TOOL_FILTER_H_

#include <memory>
#include <span>
#include <string>

#include "serve/chat/filter_cache.h"
#include "serve/chat/output_format.h"
#include "serve/chat/tools.h"
#include "skald/base/result.h"
#include "skald/text/filters/grammar_filter.h"
#include "skald/text/filters/token_filter.h"
#include "skald/text/filters/token_vocabulary.h"
#include "skald/text/tokenizer_value.h"

namespace skald::serve {

// The vocabulary of such filters: special tokens, but those that end an answer, write their names.
Result<std::shared_ptr<const TokenVocabulary>> VocabularyWithNames(const Tokenizer& tokenizer,
                                                                   std::span<const int32_t> end_ids);

// `vocabulary` is one of these; `mistral_arguments`: the template writes calls as NAME[ARGS]{...}. `begins_thinking`:
// the prompt has begun a thought. Schemas that filters do not know are held to be those of any object. What is compiled
// is kept in `cache`, which is of this vocabulary and format. Errors: those of GrammarFilter::Compile.
Result<std::shared_ptr<const TokenFilter>> MakeToolFilter(const OutputFormat& format, const ToolList& tools,
                                                          std::shared_ptr<const TokenVocabulary> vocabulary,
                                                          bool mistral_arguments, bool begins_thinking,
                                                          FilterCache& cache);

// Lets a thought come that the prompt has begun, and behind it what `filter` allows.
Result<std::shared_ptr<const TokenFilter>> AfterThought(SharedFilter filter,
                                                        std::shared_ptr<const TokenVocabulary> vocabulary,
                                                        std::string think_end);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_CHAT_TOOL_FILTER_H_
