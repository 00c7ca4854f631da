// SPDX-License-Identifier: Apache-2.0
//
// The small reference model of Gemma 4 (tests/golden/data/gemma4).

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_GEMMA4_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_GEMMA4_H_

#include "skald/families/gemma4/gemma4.h"

namespace skald::testing {

inline Gemma4Sizes GoldenGemma4() {
  Gemma4Sizes sizes = {.model_dim = 60,
                       .vocab_size = 264,
                       .feed_forward_dim = 44,
                       .slides = Gemma4Slides(6, 3),
                       .heads = 4,
                       .kv_heads = 2,
                       .head_dim = 16,
                       .full_kv_heads = 2,
                       .full_head_dim = 28,
                       .window = 9,
                       .shared_layers = 3,
                       .wide_shared = true,
                       .per_layer_dim = 12};
  sizes.rope.turning_pairs = 3;
  return sizes;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_GEMMA4_H_
