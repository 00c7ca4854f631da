// SPDX-License-Identifier: Apache-2.0
//
// A filter that allows one text alone: a model with random weights writes it, token by token, and guesses are as right
// and as wrong as for a model that writes that text.

#ifndef SKALD_BENCHMARKS_ENGINE_ONE_TEXT_H_
#define SKALD_BENCHMARKS_ENGINE_ONE_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/engine/engine.h"

namespace skald::benchmarks {

using Tokens = std::vector<int32_t>;

// Allows the next token of the text, and none at its end.
class OneText : public TokenFilter {
 public:
  OneText(std::shared_ptr<const Tokens> text, size_t vocab_size)
      : text_(std::move(text)), words_(vocab_size / 64 + 1) {}

  Result<std::unique_ptr<TokenFilter>> Clone() const override { return std::make_unique<OneText>(*this); }
  Result<std::span<const uint64_t>> Allowed() override {
    std::ranges::fill(words_, 0);
    if (at_ < text_->size()) {
      const auto id = static_cast<size_t>((*text_)[at_]);
      words_[id / 64] = uint64_t{1} << id % 64;
    }
    return words_;
  }
  Result<void> Accept(int32_t /*id*/) override {
    ++at_;
    return {};
  }
  bool IsComplete() const override { return at_ == text_->size(); }

 private:
  std::shared_ptr<const Tokens> text_;
  size_t at_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace skald::benchmarks

#endif  // SKALD_BENCHMARKS_ENGINE_ONE_TEXT_H_
