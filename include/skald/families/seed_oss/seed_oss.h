// SPDX-License-Identifier: Apache-2.0
//
// The Seed-OSS family (https://github.com/ByteDance-Seed/seed-oss): the layers of Llama, with biases of queries, keys
// and values, and heads wider than the stream divided by them.

#ifndef SKALD_FAMILIES_SEED_OSS_SEED_OSS_H_
#define SKALD_FAMILIES_SEED_OSS_SEED_OSS_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct SeedOssFamily {
  static constexpr std::string_view kModelType = "seed_oss";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kQKVBias = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_SEED_OSS_SEED_OSS_H_
