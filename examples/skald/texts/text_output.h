// SPDX-License-Identifier: Apache-2.0
//
// The output of texts of an engine: as they are, or as lines of JSON.

#ifndef SKALD_EXAMPLES_SKALD_TEXTS_TEXT_OUTPUT_H_
#define SKALD_EXAMPLES_SKALD_TEXTS_TEXT_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skald/engine/requests/request.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "texts/text_task.h"

namespace skald::program {

// A text, as far as events have told it.
struct ToldText {
  std::string text;
  std::vector<SampledToken> tokens;
  std::vector<float> embedding;
  Event last;  // the latest event: once it is at its end, why, and its usage
};

// How texts are shown.
struct TextForm {
  bool json = false;  // a line for each text
  uint32_t samples = 1;
  uint64_t seed = 0;
};

// Prints the texts in the order of requests and samples: the first one that is not at its end as it comes, the others
// after it.
class TextOutput {
 public:
  // `task`, whose prompts the requests are, must outlive it. Without a tokenizer ids are printed in place of texts.
  TextOutput(const TextTask& task, const TextForm& form) : task_(task), form_(form) {}

  // Returns false if the output has failed.
  bool Take(const Event& event);

  const std::map<size_t, ToldText>& texts() const { return texts_; }

 private:
  bool PrintNew(size_t number, const std::string& text, const std::vector<SampledToken>& tokens);
  bool PrintEnd(size_t number);
  std::string JsonLine(size_t number) const;

  // Null without one.
  const Tokenizer* tokenizer() const { return task_.tokenizer ? &*task_.tokenizer : nullptr; }

  const TextTask& task_;
  const TextForm form_;
  std::map<size_t, ToldText> texts_;  // by request * samples + sample
  size_t current_ = 0;                // the one that is printed as it comes
  bool begun_ = false;                // something of it is printed
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TEXTS_TEXT_OUTPUT_H_
