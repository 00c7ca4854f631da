// SPDX-License-Identifier: Apache-2.0
//
// The small reference models of LFM2 (tests/golden/data/lfm2 and lfm2_moe).

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_LFM2_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_LFM2_H_

#include "skald/families/lfm2/lfm2.h"

namespace skald::testing {

inline const Lfm2Sizes kGoldenLfm2 = {.model_dim = 60,
                                      .vocab_size = 264,
                                      .layers = 5,
                                      .heads = 6,
                                      .kv_heads = 2,
                                      .feed_forward_dim = 72,
                                      .attention_layers = {2, 4}};

inline Lfm2Sizes GoldenLfm2Moe() {
  Lfm2Sizes sizes = kGoldenLfm2;
  sizes.feed_forward_dim = 68;
  sizes.experts = Lfm2Experts();
  sizes.experts.experts = 8, sizes.experts.chosen = 3, sizes.experts.width = 20;
  sizes.dense_layers = 2;
  return sizes;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_LFM2_H_
