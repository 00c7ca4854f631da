// SPDX-License-Identifier: Apache-2.0
//
// Puts a prompt together from plain text and special pieces. Errors are kept until the end, so that
// code that writes a prompt reads like the prompt. One thread at a time.

#ifndef SKALD_TEXT_PROMPT_WRITER_H_
#define SKALD_TEXT_PROMPT_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/text/tokenizer.h"

namespace skald::internal {

// Adjoining plain text is encoded as one. `format` names the format in errors; it and `tokenizer`
// must outlive this.
class PromptWriter {
 public:
  PromptWriter(const Tokenizer& tokenizer, std::string_view format) : tokenizer_(tokenizer), format_(format) {}

  void Text(std::string_view text) { text_ += text; }
  void Bos() { Special("BOS", tokenizer_.bos_id()); }
  void BosIfDefined() {
    if (tokenizer_.bos_id()) Bos();
  }
  void Eos() { Special("EOS", tokenizer_.eos_id()); }
  void Marker(std::string_view name) { Special(name, tokenizer_.SpecialId(name)); }

  // Encodes the text so far on its own.
  void Break() {
    const Result<std::vector<int32_t>> ids = tokenizer_.Encode(text_, ParseSpecial::kNo);
    text_.clear();
    if (!ids) {
      Keep(ids.error());
    } else {
      ids_.insert(ids_.end(), ids->begin(), ids->end());
    }
  }

  // Returns the ids of all that was written, or the first error.
  Result<std::vector<int32_t>> Finish() && {
    Break();
    if (error_) return Failure(*std::move(error_));
    return std::move(ids_);
  }

 private:
  void Special(std::string_view name, std::optional<int32_t> id) {
    Break();
    if (id) return ids_.push_back(*id);
    Keep({ErrorCode::kInvalidArgument, "the chat template " + std::string(format_) + " needs the piece " +
                                           std::string(name) + ", which the tokenizer does not have"});
  }

  void Keep(Error error) {
    if (!error_) error_ = std::move(error);
  }

  const Tokenizer& tokenizer_;
  std::string_view format_;
  std::string text_;
  std::vector<int32_t> ids_;
  std::optional<Error> error_;
};

}  // namespace skald::internal

#endif  // SKALD_TEXT_PROMPT_WRITER_H_
