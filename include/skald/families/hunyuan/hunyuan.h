// SPDX-License-Identifier: Apache-2.0
//
// The families of Hunyuan (https://github.com/Tencent-Hunyuan), dense and with experts: queries and keys normalised per
// head after RoPE, whose base a factor alpha stretches; a feed-forward layer beside the experts.

#ifndef SKALD_FAMILIES_HUNYUAN_HUNYUAN_H_
#define SKALD_FAMILIES_HUNYUAN_HUNYUAN_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

/// Dense models.
struct HunyuanDenseFamily {
  static constexpr std::string_view kModelType = "hunyuan_v1_dense";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kQKNorm = true, kNormAfterRope = true;
  static constexpr bool kTiedEmbeddings = false;
};

/// Mixtures of experts.
struct HunyuanMoeFamily : HunyuanDenseFamily {
  static constexpr std::string_view kModelType = "hunyuan_v1_moe";
};

}  // namespace skald

#endif  // SKALD_FAMILIES_HUNYUAN_HUNYUAN_H_
