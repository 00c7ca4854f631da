// SPDX-License-Identifier: Apache-2.0
//
// LeastTokensFilter: keeps the tokens that end an answer from the first ones of it.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_LEAST_TOKENS_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_LEAST_TOKENS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/token_filter.h"

namespace skald::serve {

class LeastTokensFilter final : public TokenFilter {
 public:
  // `end_ids` do not come among the first `least` tokens. `inner` says what else may come, of ids below `vocab_size`;
  // null: anything. Where it lets nothing but an end come, that comes earlier.
  LeastTokensFilter(uint32_t least, std::vector<int32_t> end_ids, size_t vocab_size,
                    std::shared_ptr<const TokenFilter> inner)
      : least_(least), end_ids_(std::move(end_ids)), words_((vocab_size + 63) / 64), first_(std::move(inner)) {}

  Result<std::unique_ptr<TokenFilter>> Clone() const override {
    auto clone = std::make_unique<LeastTokensFilter>(least_, end_ids_, 0, nullptr);
    clone->words_.resize(words_.size());
    const TokenFilter* const inner = inner_ ? inner_.get() : first_.get();
    if (inner != nullptr) {
      SKALD_ASSIGN(clone->inner_, inner->Clone());
    }
    return clone;
  }

  Result<std::span<const uint64_t>> Allowed() override {
    std::ranges::fill(words_, ~uint64_t{0});
    std::span<const uint64_t> allowed = words_;
    if (inner_ != nullptr) {
      SKALD_ASSIGN(allowed, inner_->Allowed());
    }
    if (least_ == 0) return allowed;
    words_.resize(std::max(words_.size(), allowed.size()));
    if (inner_ != nullptr) {
      std::ranges::fill(words_, 0);
      std::ranges::copy(allowed, words_.begin());
    }
    for (const int32_t id : end_ids_) {
      const auto word = static_cast<size_t>(id) / 64;
      if (word < words_.size()) words_[word] &= ~(uint64_t{1} << (static_cast<size_t>(id) % 64));
    }
    const bool is_over = std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
    return is_over ? allowed : std::span<const uint64_t>(words_);
  }

  std::shared_ptr<FilterWork> TakeWork() override { return inner_ == nullptr ? nullptr : inner_->TakeWork(); }

  Result<void> Accept(int32_t id) override {
    if (inner_ != nullptr) {
      SKALD_TRY(inner_->Accept(id));
    }
    if (least_ > 0) --least_;
    return {};
  }

  bool IsComplete() const override { return inner_ == nullptr ? least_ == 0 : inner_->IsComplete(); }

 private:
  uint32_t least_;  // that are still to come
  std::vector<int32_t> end_ids_;
  std::vector<uint64_t> words_;               // of the last call of Allowed
  std::shared_ptr<const TokenFilter> first_;  // of what is cloned and never asked
  std::unique_ptr<TokenFilter> inner_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_LEAST_TOKENS_H_
