// SPDX-License-Identifier: Apache-2.0
//
// Qwen2: its row of the registry.

#ifndef SKALD_FAMILIES_QWEN2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_QWEN2_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/qwen2/qwen2.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules Qwen2Rules() { return {.implied = ShortFormOf<Qwen2Family>(), .layers = LayerRule::kUpper}; }

inline constexpr PassedFields kQwen2PassedJson[] = {
    {"only counts with use_sliding_window, and is read with it", "", "sliding_window"},
    {"its attention has the biases that it has, whatever this says", "", "attention_bias"}};

inline constexpr ModelType kQwen2Types[] = {{.name = Qwen2Family::kModelType, .read = ReadTransformerWith<Qwen2Rules>}};

inline constexpr GgufArchitecture kQwen2Architectures[] = {{.name = "qwen2", .read = ReadGgufWith<Qwen2Rules>}};

struct Qwen2Row {
  static constexpr FamilyRow kRow = {.name = "Qwen2",
                                     .special = "QKV bias",
                                     .model_types = kQwen2Types,
                                     .architectures = kQwen2Architectures,
                                     .passed_json = kQwen2PassedJson};
  using Published = ConfigTypes<Qwen2_5_0_5B, Qwen2_5_1_5B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_QWEN2_DETAIL_FAMILY_H_
