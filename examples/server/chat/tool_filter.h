// SPDX-License-Identifier: Apache-2.0
//
// Holds answers to what the request asks for: calls of tools to their schemas, in the form that the model was trained
// on, and other answers to the schema of the response.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_TOOL_FILTER_H_
#define SKALD_EXAMPLES_SERVER_CHAT_TOOL_FILTER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/chat/filter_cache.h"
#include "server/chat/output_format.h"
#include "server/chat/tools.h"
#include "skald/base/result.h"
#include "skald/constraints/token_filter.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::serve {

// The vocabulary of such filters: special tokens, but those that end an answer, write their names.
Result<std::shared_ptr<const TokenVocabulary>> VocabularyWithNames(const Tokenizer& tokenizer,
                                                                   std::span<const int32_t> end_ids);

// What an answer is held to.
struct AnswerRules {
  OutputFormat format = {};
  ToolList tools = {};
  std::optional<std::string> schema = {};  // of the answer, where it is no call; empty: any object of JSON
  bool mistral_arguments = false;          // the template writes calls as NAME[ARGS]{...}
  bool begins_thinking = false;            // the prompt has begun a thought
  uint32_t max_tokens = std::numeric_limits<uint32_t>::max();

  // Whether the filter needs VocabularyWithNames, and not the plain one.
  bool needs_names() const { return tools.may_call() || begins_thinking || format.tools == ToolForm::kHarmony; }
};

// Returns the filter, or null where anything may come. Where tools may be called, calls have the form and the arguments
// that they must; where they must be called, nothing comes before the calls but a thought, and that leaves room for
// them. With a schema too an answer is either calls or a text that fits the schema. Tools' schemas that filters do not
// know, or that make the grammar too large, are those of any object. What is compiled is kept in `cache`, which is of
// this format and its vocabularies. Errors: those of the answer's schema.
Result<std::shared_ptr<const TokenFilter>> MakeAnswerFilter(const AnswerRules& rules,
                                                            std::shared_ptr<const TokenVocabulary> vocabulary,
                                                            FilterCache& cache);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_TOOL_FILTER_H_
