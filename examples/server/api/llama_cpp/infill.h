// SPDX-License-Identifier: Apache-2.0
//
// Prompts for the text between two others, of models that were trained to fill in the middle (Bavarian et al.,
// "Efficient training of language models to fill in the middle", 2022): marks tell them which part is which.

#ifndef SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_INFILL_H_
#define SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_INFILL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/call.h"
#include "skald/engine/requests/request.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::serve {

// The ids of the marks.
struct InfillMarks {
  int32_t prefix, suffix, middle;
  std::optional<int32_t> repository = {}, file = {};  // where other files come before
  std::vector<int32_t> ends = {};                     // that a model writes after what it filled in
};

// Returns the marks that a tokenizer has; nothing if the model cannot fill in.
std::optional<InfillMarks> FindInfillMarks(const Tokenizer& tokenizer);

struct InfillTexts {
  std::string prefix, suffix;
  std::vector<std::pair<std::string, std::string>> files = {};  // others, name and text
};

// Returns the ids of the prompt, and lets the request end at the marks. Thrown: that the model cannot fill in, about
// the field `name`; texts that do not fit.
std::vector<int32_t> InfillPrompt(const Call& call, const InfillTexts& texts, std::string_view name, Request& request);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_INFILL_H_
