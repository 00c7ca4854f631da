// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/sampling/token_sampler.h.

#ifndef SKALD_SAMPLING_DETAIL_TOKEN_SAMPLER_H_
#define SKALD_SAMPLING_DETAIL_TOKEN_SAMPLER_H_

#include "skald/sampling/token_sampler.h"

#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<SampledToken> AnySampler::Draw(std::span<const float> logits, const DrawContext& context,
                                                   SamplerScratch& scratch) const {
  return NoThrow("the caller's own sampler", [&]() -> Result<SampledToken> {
    SKALD_ASSIGN(auto drawn, sampler_->Draw(logits, context, scratch));
    const auto refuse = [&](const std::string& why) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the caller's own sampler drew the token " + std::to_string(drawn.id) + ", " + why);
    };
    if (drawn.id < 0 || static_cast<size_t>(drawn.id) >= logits.size()) {
      return refuse("expected 0 to " + std::to_string(static_cast<int64_t>(logits.size()) - 1));
    }
    const auto id = static_cast<size_t>(drawn.id);
    if (context.allowed && (id / 64 >= context.allowed->size() || ((*context.allowed)[id / 64] >> id % 64 & 1) == 0)) {
      return refuse("which is not allowed");
    }
    return drawn;
  });
}

}  // namespace skald

#endif  // SKALD_SAMPLING_DETAIL_TOKEN_SAMPLER_H_
