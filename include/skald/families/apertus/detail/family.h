// SPDX-License-Identifier: Apache-2.0
//
// Apertus: its row of the registry.

#ifndef SKALD_FAMILIES_APERTUS_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_APERTUS_DETAIL_FAMILY_H_

#include "skald/families/apertus/apertus.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline FamilyRules ApertusRules() {
  return {
      .implied = ShortFormOf<ApertusFamily>(), .kv_heads_given = false, .reads_attention_bias = true, .gated = false};
}

inline constexpr Renaming kApertusNames[] = {{"input_layernorm.", "attention_layernorm."},
                                             {"feed_forward_norm.", "feedforward_layernorm."}};

// Numbers of the metadata, of each layer (GgufFile).
inline constexpr Renaming kApertusGgufNames[] = {{"mlp.act_fn.", "xielu."}};

inline constexpr TensorNames kApertusTensors[] = {
    {.body = "model.", .head = "lm_head.", .renamings = kApertusNames, .mark = "attention_layernorm.weight"}};

inline constexpr PassedFields kApertusPassedJson[] = {{"norms come before layers", "", "post_norm", false},
                                                      {"queries and keys are normalised", "", "qk_norm", true}};

inline constexpr PassedFields kApertusPassedGguf[] = {
    {"parameters of layers, which are read as tensors", "", "xielu.alpha_p xielu.alpha_n xielu.beta xielu.eps"}};

inline constexpr ModelType kApertusTypes[] = {
    {.name = ApertusFamily::kModelType, .read = ReadTransformerWith<ApertusRules>}};

inline constexpr GgufArchitecture kApertusArchitectures[] = {{.name = "apertus", .read = ReadGgufWith<ApertusRules>}};

struct ApertusRow {
  static constexpr FamilyRow kRow = {.name = "Apertus",
                                     .special = "QK-norm, feed-forward layers without a gate, a learned activation",
                                     .model_types = kApertusTypes,
                                     .architectures = kApertusArchitectures,
                                     .gguf_names = kApertusGgufNames,
                                     .own_names = kApertusTensors,
                                     .passed_json = kApertusPassedJson,
                                     .passed_gguf = kApertusPassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_APERTUS_DETAIL_FAMILY_H_
