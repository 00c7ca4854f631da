// SPDX-License-Identifier: Apache-2.0
//
// Gemma 2: its row of the registry.

#ifndef SKALD_FAMILIES_GEMMA2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GEMMA2_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/gemma2/gemma2.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules Gemma2Rules() {
  return {.implied = ShortFormOf<Gemma2Family>(),
          .layers = LayerRule::kAllButNth,
          .nth = 2,
          .head_dim = 256,
          .reads_attention_bias = true,
          .reads_caps = true,
          .gelu_means_tanh = true,
          .gguf_window = 4096,
          .largest_layers = 46};
}

inline constexpr PassedFields kGemma2PassedJson[] = {
    {"the older forms of layer_types, which are read where it is missing", "",
     "sliding_window_pattern _sliding_window_pattern"}};

inline constexpr ModelType kGemma2Types[] = {
    {.name = Gemma2Family::kModelType, .read = ReadTransformerWith<Gemma2Rules>}};

inline constexpr GgufArchitecture kGemma2Architectures[] = {
    {.name = "gemma2", .read = ReadGgufWith<Gemma2Rules>, .is_written = true}};

struct Gemma2Row {
  static constexpr FamilyRow kRow = {.name = "Gemma 2",
                                     .special = "alternating window, two softcaps, pre- and post-norms",
                                     .model_types = kGemma2Types,
                                     .architectures = kGemma2Architectures,
                                     .passed_json = kGemma2PassedJson};
  using Published = ConfigTypes<Gemma2_2B, Gemma2_9B, Gemma2_27B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GEMMA2_DETAIL_FAMILY_H_
