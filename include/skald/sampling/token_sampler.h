// SPDX-License-Identifier: Apache-2.0
//
// TokenSampler: a sampler of the caller's own, in place of the one that SamplerSettings describes (sampler.h). Any type
// that meets the concept works wherever ours does: in the caller's own loop and in an engine (Request::own_sampler).

#ifndef SKALD_SAMPLING_TOKEN_SAMPLER_H_
#define SKALD_SAMPLING_TOKEN_SAMPLER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "skald/base/result.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"

namespace skald {

/// The data for the draw of a token. Everything that it refers to lives until the draw is done.
struct DrawContext {
  std::span<const int32_t> tokens;  ///< of the text so far: prompt and answer
  size_t prompt_tokens = 0;         ///< of these
  /// Of the token that is drawn, in its sequence: it selects the random draw (RandomStream, random.h).
  uint64_t position = 0;
  const SamplerSettings& settings;  ///< of the text, with its own stream of draws
  const SamplerState& state;        ///< what the penalties of `settings` have observed
  /// As in Sample: a bit for each token that may be drawn. Unset: any token.
  std::optional<std::span<const uint64_t>> allowed = {};
};

/// Draw(logits, context, scratch) returns the token that follows, given its `logits` [vocab_size]. It must keep four
/// promises, on which batches, speculation and saved requests rely:
///   - The token depends on `logits` and `context` only. A draw may be repeated, and answers may be interleaved: what a
///     sampler has to remember of a text, it works out from DrawContext::tokens.
///   - Randomness comes from DrawContext::settings.random and DrawContext::position (RandomBits, random.h).
///   - It is safe for concurrent calls, each with scratch memory of its own.
///   - The token is one of the vocabulary, and one that is allowed. Another one is an error of the draw.
/// A sampler may change a copy of the logits and leave the rest to Sample. Errors and exceptions end the text, except
/// kResourceExhausted: the draw is repeated later.
template <class S>
concept TokenSampler = requires(const S& sampler, std::span<const float> logits, const DrawContext& context,
                                SamplerScratch& scratch) {
  { sampler.Draw(logits, context, scratch) } -> std::same_as<Result<SampledToken>>;
};

/// A TokenSampler without its type, or none. Copies share the one sampler, which is immutable.
class AnySampler {
 public:
  /// None.
  AnySampler() = default;

  /// Takes the sampler. Throws std::bad_alloc, and what the sampler's own constructor throws.
  template <TokenSampler S>
  requires(!std::same_as<S, AnySampler>) AnySampler(S sampler)  // NOLINT: as std::function
      : sampler_(std::make_shared<const Holder<S>>(std::move(sampler))) {}

  /// Whether there is a sampler.
  explicit operator bool() const { return sampler_ != nullptr; }

  /// Draws, and checks what was drawn. There must be a sampler. Errors: the sampler's; kInvalidArgument for a token
  /// that is not one of the vocabulary, or is not allowed.
  Result<SampledToken> Draw(std::span<const float> logits, const DrawContext& context, SamplerScratch& scratch) const;

 private:
  struct Base {
    virtual ~Base() = default;
    virtual Result<SampledToken> Draw(std::span<const float> logits, const DrawContext& context,
                                      SamplerScratch& scratch) const = 0;
  };

  template <class S>
  struct Holder final : Base {
    explicit Holder(S held) : sampler(std::move(held)) {}
    Result<SampledToken> Draw(std::span<const float> logits, const DrawContext& context,
                              SamplerScratch& scratch) const override {
      return sampler.Draw(logits, context, scratch);
    }
    S sampler;
  };

  std::shared_ptr<const Base> sampler_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/sampling/detail/token_sampler.h"
#endif

#endif  // SKALD_SAMPLING_TOKEN_SAMPLER_H_
