// SPDX-License-Identifier: Apache-2.0
//
// SmolLM3: its row of the registry.

#ifndef SKALD_FAMILIES_SMOLLM3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_SMOLLM3_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/smollm3/smollm3.h"

namespace skald::internal {

inline FamilyRules SmolLM3Rules() {
  return {.implied = ShortFormOf<SmolLM3Family>(),
          .reads_attention_bias = true,
          .reads_feed_forward_bias = true,
          .nth_without_rope = 4};
}

inline constexpr PassedFields kSmolLM3PassedJson[] = {
    {"the interval that no_rope_layers is made from, and is read where that is missing", "", "no_rope_layer_interval"}};

inline constexpr ModelType kSmolLM3Types[] = {
    {.name = SmolLM3Family::kModelType, .read = ReadTransformerWith<SmolLM3Rules>}};

inline constexpr GgufArchitecture kSmolLM3Architectures[] = {
    {.name = "smollm3", .read = ReadGgufWith<SmolLM3Rules>, .has_rope_pairs = true, .is_written = true}};

struct SmolLM3Row {
  static constexpr FamilyRow kRow = {.name = "SmolLM3",
                                     .special = "each fourth layer without RoPE",
                                     .model_types = kSmolLM3Types,
                                     .architectures = kSmolLM3Architectures,
                                     .passed_json = kSmolLM3PassedJson};
  using Published = ConfigTypes<SmolLM3_3B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_SMOLLM3_DETAIL_FAMILY_H_
