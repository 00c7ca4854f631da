// SPDX-License-Identifier: Apache-2.0
//
// GrammarFilter: a TokenFilter that holds a text to a grammar. Compile once for each grammar and vocabulary, and copy
// or Clone the filter for each text: all copies share one compiled grammar and the masks that it remembers, from any
// number of threads.
//
//   const auto vocabulary = TokenVocabulary::Make(tokenizer);
//   const auto grammar = ParseJsonSchema(schema);
//   const auto filter = GrammarFilter::Compile(*grammar, *vocabulary);

#ifndef SKALD_CONSTRAINTS_GRAMMAR_FILTER_H_
#define SKALD_CONSTRAINTS_GRAMMAR_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/constraints/grammar/explorer.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar_masks.h"
#include "skald/constraints/token_filter.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald {

class GrammarFilter final : public TokenFilter {
 public:
  /// Returns a filter at the beginning of a text. `vocabulary` must not be null. Masks inside of strings are computed
  /// here: some milliseconds for a vocabulary of 150,000. Errors: a grammar beyond the limits of grammar/limits.h, with
  /// left recursion, or without any text that ends.
  static Result<GrammarFilter> Compile(const Grammar& grammar, std::shared_ptr<const TokenVocabulary> vocabulary);

  Result<std::unique_ptr<TokenFilter>> Clone() const override;

  /// A mask that takes more than about a millisecond.
  std::shared_ptr<FilterWork> TakeWork() override;

  /// Errors: kUnsupported where the grammar can read the text in more ways than are followed side by side, or where
  /// that takes more than grammar/limits.h allows: always for a text, or never.
  Result<std::span<const uint64_t>> Allowed() override;

  Result<void> Accept(int32_t id) override;

  /// Advances to the state after a text, for any tokens that it was written with. Text that is not allowed is an error,
  /// and changes nothing.
  Result<void> AcceptText(std::string_view text);

  bool IsComplete() const override { return has_ended_ || readings_[0] != 0; }

  /// About the bytes that all copies of it share, without the vocabulary's: they grow with the masks that are kept, up
  /// to limits.h.
  size_t shared_bytes() const { return masks_->memory(); }

  /// Whether a token ended the text.
  bool has_ended() const { return has_ended_; }

 private:
  class MaskWork final : public FilterWork {
   public:
    MaskWork(std::shared_ptr<const internal::GrammarMasks> masks, internal::Readings readings)
        : masks_(std::move(masks)), readings_(std::move(readings)) {}

    /// Once it is done.
    const Result<std::shared_ptr<const internal::Mask>>& mask() const { return mask_; }

   private:
    void Compute() noexcept override;

    const std::shared_ptr<const internal::GrammarMasks> masks_;
    const internal::Readings readings_;
    Result<std::shared_ptr<const internal::Mask>> mask_ = nullptr;
  };

  explicit GrammarFilter(std::shared_ptr<const internal::GrammarMasks> masks)
      : masks_(std::move(masks)), readings_(masks_->Start()) {}

  static Failure Refuse(int32_t id, std::string_view reason);

  static inline const internal::Readings kNoReadings = {0};

  std::shared_ptr<const internal::GrammarMasks> masks_;
  internal::Readings readings_;  ///< of the text so far
  bool has_ended_ = false;
  std::shared_ptr<const internal::Mask> mask_;  ///< of readings_, once asked for
  std::shared_ptr<MaskWork> work_;              ///< the same, where it takes long
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/detail/grammar_filter.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_FILTER_H_
