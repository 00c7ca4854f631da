// SPDX-License-Identifier: Apache-2.0
//
// The small reference model of LFM2 (tests/golden/data/lfm2).

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_LFM2_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_LFM2_H_

#include "skald/configs/families/lfm2.h"

namespace skald::testing {

inline const Lfm2Sizes kGoldenLfm2 = {.model_dim = 60,
                                      .vocab_size = 264,
                                      .layers = 5,
                                      .heads = 6,
                                      .kv_heads = 2,
                                      .feed_forward_dim = 72,
                                      .attention_layers = {2, 4}};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_LFM2_H_
