// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar_filter.h.

#ifndef SKALD_CONSTRAINTS_DETAIL_GRAMMAR_FILTER_H_
#define SKALD_CONSTRAINTS_DETAIL_GRAMMAR_FILTER_H_

#include "skald/constraints/grammar_filter.h"

#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"

namespace skald {

SKALD_INLINE Result<GrammarFilter> GrammarFilter::Compile(const Grammar& grammar,
                                                          std::shared_ptr<const TokenVocabulary> vocabulary) {
  return NoThrow("compiling a grammar", [&]() -> Result<GrammarFilter> {
    SKALD_ASSIGN(auto masks, internal::GrammarMasks::Make(grammar, std::move(vocabulary)));
    return GrammarFilter(std::move(masks));
  });
}

SKALD_INLINE Result<std::unique_ptr<TokenFilter>> GrammarFilter::Clone() const {
  return NoThrow("a token filter",
                 [&]() -> Result<std::unique_ptr<TokenFilter>> { return std::make_unique<GrammarFilter>(*this); });
}

SKALD_INLINE std::shared_ptr<FilterWork> GrammarFilter::TakeWork() {
  if (mask_ || has_ended_) return nullptr;
  if (work_ == nullptr) {
    const auto quick = NoThrow("a token filter", [&]() -> Result<std::shared_ptr<const internal::Mask>> {
      auto mask = masks_->QuickMaskOf(readings_);
      if (mask && *mask == nullptr) work_ = std::make_shared<MaskWork>(masks_, readings_);
      return mask;
    });
    if (quick) mask_ = *quick;
  }
  return work_ != nullptr && !work_->is_done() ? work_ : nullptr;
}

SKALD_INLINE Result<std::span<const uint64_t>> GrammarFilter::Allowed() {
  return NoThrow("a token filter", [&]() -> Result<std::span<const uint64_t>> {
    if (!mask_) {
      const bool is_done = work_ != nullptr && work_->is_done();
      SKALD_ASSIGN(auto mask, has_ended_ ? std::make_shared<const internal::Mask>(masks_->vocabulary().mask_words())
                              : is_done  ? work_->mask()
                                         : masks_->MaskOf(readings_));
      mask_ = std::move(mask);
    }
    return std::span<const uint64_t>(*mask_);
  });
}

SKALD_INLINE Result<void> GrammarFilter::Accept(int32_t id) {
  return NoThrow("a token filter", [&]() -> Result<void> {
    const TokenVocabulary& vocabulary = masks_->vocabulary();
    if (id < 0 || static_cast<size_t>(id) >= vocabulary.size()) {
      return Fail(ErrorCode::kInvalidArgument, Concat({"token id ", std::to_string(id), " is outside of the filter's ",
                                                       std::to_string(vocabulary.size()), " tokens"}));
    }
    if (has_ended_) return Refuse(id, "the text has ended");
    if (vocabulary.IsEnd(id)) {
      if (!IsComplete()) return Refuse(id, "the text may not end here");
      has_ended_ = true;
      mask_ = nullptr;
      work_ = nullptr;
      return {};
    }
    const std::string_view bytes = vocabulary.BytesOf(id);
    if (bytes.empty()) return Refuse(id, "it has no text");
    SKALD_ASSIGN(auto next, masks_->Read(readings_, bytes));
    if (next == kNoReadings) return Refuse(id, Concat({"no text of the grammar goes on with ", QuotedName(bytes)}));
    readings_ = std::move(next);
    mask_ = nullptr;
    work_ = nullptr;
    return {};
  });
}

SKALD_INLINE Result<void> GrammarFilter::AcceptText(std::string_view text) {
  return NoThrow("a token filter", [&]() -> Result<void> {
    if (text.empty()) return {};
    SKALD_ASSIGN(auto next, masks_->Read(readings_, text));
    if (has_ended_ || next == kNoReadings) {
      return Fail(ErrorCode::kInvalidArgument, Concat({"no text of the grammar goes on with ", QuotedName(text)}));
    }
    readings_ = std::move(next);
    mask_ = nullptr;
    work_ = nullptr;
    return {};
  });
}

SKALD_INLINE void GrammarFilter::MaskWork::Compute() noexcept {
  mask_ = NoThrow("a token filter", [this] { return masks_->MaskOf(readings_); });
}

SKALD_INLINE Failure GrammarFilter::Refuse(int32_t id, std::string_view reason) {
  return Fail(ErrorCode::kInvalidArgument, Concat({"token ", std::to_string(id), " is not allowed: ", reason}));
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_DETAIL_GRAMMAR_FILTER_H_
