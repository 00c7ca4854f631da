// SPDX-License-Identifier: Apache-2.0
//
// Phi-1, Phi-1.5 and Phi-2: their row of the registry.

#ifndef SKALD_FAMILIES_PHI_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_PHI_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/phi/phi.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline FamilyRules PhiRules() {
  return {.implied = ShortFormOf<PhiFamily>(),
          .kv_heads_given = false,
          .may_rotate_partly = true,
          .rotary_part = 0.5,
          .norm_epsilon = "layer_norm_eps",
          .standard_epsilon = 1e-5,
          .gated = false};
}

inline TextModel ReadPhi(const JsonFields& fields) {
  fields.Expect("qk_layernorm", false);
  fields.Expect("tie_word_embeddings", false);
  return ReadTransformer(fields, PhiRules());
}

inline constexpr Renaming kPhiNames[] = {
    {"self_attn.o_proj.", "self_attn.dense."}, {"mlp.up_proj.", "mlp.fc1."}, {"mlp.down_proj.", "mlp.fc2."}};

inline constexpr TensorNames kPhiTensors[] = {{.body = "model.",
                                               .head = "lm_head.",
                                               .final_norm = "final_layernorm.",
                                               .renamings = kPhiNames,
                                               .mark = "self_attn.dense.weight"}};

inline constexpr ModelType kPhiTypes[] = {{.name = PhiFamily::kModelType, .read = ReadPhi}};

inline constexpr GgufArchitecture kPhiArchitectures[] = {
    {.name = "phi2", .read = ReadGgufWith<PhiRules>, .is_written = true}};

struct PhiRow {
  static constexpr FamilyRow kRow = {
      .name = "Phi-1, Phi-1.5, Phi-2",
      .special =
          "attention beside feed-forward layer, LayerNorm, biases, also of the head, RoPE of a part of each head",
      .model_types = kPhiTypes,
      .architectures = kPhiArchitectures,
      .own_names = kPhiTensors};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_PHI_DETAIL_FAMILY_H_
