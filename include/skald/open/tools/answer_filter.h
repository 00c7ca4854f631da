// SPDX-License-Identifier: Apache-2.0
//
// Token filters for answers: calls of tools fit the schemas of their arguments and have the form that the model was
// trained on; other answers fit the schema of the response.

#ifndef SKALD_OPEN_TOOLS_ANSWER_FILTER_H_
#define SKALD_OPEN_TOOLS_ANSWER_FILTER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "skald/base/result.h"
#include "skald/constraints/filter_cache.h"
#include "skald/constraints/token_filter.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/open/tools/output_format.h"
#include "skald/open/tools/tools.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

/// Returns the vocabulary of filters in which special tokens, except `end_ids`, write their names. Errors: those of
/// TokenVocabulary::Make.
Result<std::shared_ptr<const TokenVocabulary>> VocabularyWithNames(const Tokenizer& tokenizer,
                                                                   std::span<const int32_t> end_ids);

/// The rules that an answer must keep.
struct AnswerRules {
  OutputFormat format = {};                ///< of the model
  ToolList tools = {};                     ///< of the request
  std::optional<std::string> schema = {};  ///< of an answer that is no call; empty: any object of JSON
  bool begins_thinking = false;            ///< the prompt has begun a thought
  uint32_t max_tokens = std::numeric_limits<uint32_t>::max();  ///< of the answer

  /// Returns whether the filter needs VocabularyWithNames, and not the plain one.
  bool needs_names() const { return tools.may_call() || begins_thinking || format.tools == ToolForm::kHarmony; }
};

/// Returns the filter of one answer, or null if any text may come. If tools may be called, calls have the form and the
/// arguments that they must have; if they must be called, only a thought comes before the calls, and it leaves room for
/// them. With a schema too an answer is either calls or a text that fits the schema. The arguments of a tool whose
/// schema filters do not know, or whose schema makes the grammar too large, are any object. `vocabulary` is that which
/// AnswerRules::needs_names says. Compiled grammars are kept in `cache`, which must be used for this format and its
/// vocabularies alone. Safe for concurrent calls. Errors: those of the answer's schema.
Result<std::shared_ptr<const TokenFilter>> MakeAnswerFilter(const AnswerRules& rules,
                                                            std::shared_ptr<const TokenVocabulary> vocabulary,
                                                            FilterCache& cache);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/tools/detail/answer_filter.h"
#endif

#endif  // SKALD_OPEN_TOOLS_ANSWER_FILTER_H_
