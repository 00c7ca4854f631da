// SPDX-License-Identifier: Apache-2.0
//
// The small reference model of gpt-oss (tests/golden/data/gpt_oss).

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_GPT_OSS_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_GPT_OSS_H_

#include "skald/families/gpt_oss/gpt_oss.h"

namespace skald::testing {

inline GptOssSizes GoldenGptOss() {
  GptOssSizes sizes = {.model_dim = 64,
                       .vocab_size = 264,
                       .heads = 6,
                       .kv_heads = 2,
                       .head_dim = 20,
                       .window = 12,
                       .slides = GptOssSlides(3),
                       .experts = 6,
                       .chosen_experts = 3,
                       .expert_width = 32};
  sizes.rope.base = 5000.0;
  sizes.rope.original_context = 256.0;
  return sizes;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_GPT_OSS_H_
