// SPDX-License-Identifier: Apache-2.0
//
// A sampler as a user of the library would write it.

#ifndef SKALD_TESTS_ENGINE_OWN_SAMPLER_H_
#define SKALD_TESTS_ENGINE_OWN_SAMPLER_H_

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/sampling/sampler.h"
#include "skald/sampling/token_sampler.h"

namespace skald::testing {

// Draws no token that the answer has already, as long as others are allowed.
struct NoTokenTwice {
  Result<SampledToken> Draw(std::span<const float> logits, const DrawContext& context, SamplerScratch& scratch) const {
    std::vector<float> changed(logits.begin(), logits.end());
    for (const int32_t id : context.tokens.subspan(context.prompt_tokens)) changed[static_cast<size_t>(id)] = -INFINITY;
    auto drawn = Sample(changed, context.settings, context.state, context.position, scratch, context.allowed);
    if (drawn) return drawn;
    return Sample(logits, context.settings, context.state, context.position, scratch, context.allowed);
  }
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_ENGINE_OWN_SAMPLER_H_
