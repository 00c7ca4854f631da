// SPDX-License-Identifier: Apache-2.0
//
// Falcon-H1: its row of the registry.

#ifndef SKALD_FAMILIES_FALCON_H1_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_FALCON_H1_DETAIL_FAMILY_H_

#include "skald/families/falcon_h1/detail/falcon_h1.h"
#include "skald/families/falcon_h1/falcon_h1.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald::internal {

inline constexpr FactRenaming kFalconH1FactNames[] = {{"num_heads", "mamba_n_heads"},
                                                      {"expand * hidden_size", "mamba_d_ssm"},
                                                      {"state_size", "mamba_d_state"},
                                                      {"n_groups", "mamba_n_groups"},
                                                      {"conv_kernel", "mamba_d_conv"}};

// Those of Falcon-H1, and of Jamba, which has experts too.
inline constexpr Renaming kFalconH1Names[] = {{"feed_forward_norm.", "pre_ff_layernorm."},
                                              {"mixer.", "mamba."},
                                              {"mlp.gate.", "feed_forward.router."},
                                              {"mlp.experts.gate_proj.", "feed_forward.experts.#.gate_proj."},
                                              {"mlp.experts.up_proj.", "feed_forward.experts.#.up_proj."},
                                              {"mlp.experts.down_proj.", "feed_forward.experts.#.down_proj."},
                                              {"mlp.", "feed_forward."}};

inline constexpr TensorNames kFalconH1Tensors[] = {
    {.body = "model.", .head = "lm_head.", .final_norm = "final_layernorm.", .renamings = kFalconH1Names}};

inline constexpr Renaming kFalconH1GgufNames[] = {{"feed_forward_norm.weight", "ffn_norm"}};

inline constexpr PassedFields kFalconH1PassedJson[] = {
    {"widths of layers that the model does not have, and read where it does", "", "mamba_expand mlp_expansion_factor"}};

inline constexpr ModelType kFalconH1Types[] = {
    {.name = FalconH1Family::kModelType, .read = ReadOne<ReadFalconH1>, .fact_names = kFalconH1FactNames}};

inline constexpr GgufArchitecture kFalconH1Architectures[] = {
    {.name = "falcon-h1",
     .read = ReadOneGguf<ReadFalconH1Gguf>,
     .changed = ChangedWeights{Assumption::kNotMultiplied, "weights that the multipliers have gone into"}}};

struct FalconH1Row {
  static constexpr FamilyRow kRow = {.name = "Falcon-H1",
                                     .special = "attention and Mamba-2 side by side, multipliers",
                                     .model_types = kFalconH1Types,
                                     .architectures = kFalconH1Architectures,
                                     .gguf_names = kFalconH1GgufNames,
                                     .own_names = kFalconH1Tensors,
                                     .passed_json = kFalconH1PassedJson};
  using Published = ConfigTypes<FalconH1_0_5B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_FALCON_H1_DETAIL_FAMILY_H_
