// SPDX-License-Identifier: Apache-2.0
//
// Mamba and Falcon Mamba: their row of the registry.

#ifndef SKALD_FAMILIES_MAMBA_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MAMBA_DETAIL_FAMILY_H_

#include "skald/families/mamba/detail/mamba.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

// Those of Mamba and Mamba-2, and of Nemotron-H, in which all layers are mixers.
inline constexpr Renaming kMambaNames[] = {{"input_layernorm.", "norm."},
                                           {"self_attn.", "mixer."},
                                           {"mlp.experts.up_proj.", "mixer.experts.#.up_proj."},
                                           {"mlp.experts.up_proj.weight", "mixer.experts.up_proj"},
                                           {"mlp.experts.down_proj.", "mixer.experts.#.down_proj."},
                                           {"mlp.experts.down_proj.weight", "mixer.experts.down_proj"},
                                           {"mlp.shared_expert.", "mixer.shared_experts."},
                                           {"mlp.", "mixer."}};

// As transformers writes them, and with the embedding as their authors named it.
inline constexpr TensorNames kMambaTensors[] = {{.body = "backbone.",
                                                 .head = "lm_head.",
                                                 .embedding = "embeddings.weight",
                                                 .final_norm = "norm_f.",
                                                 .renamings = kMambaNames},
                                                {.body = "backbone.",
                                                 .head = "lm_head.",
                                                 .embedding = "embedding.weight",
                                                 .final_norm = "norm_f.",
                                                 .renamings = kMambaNames}};

// Also of what Jamba has.
inline constexpr Renaming kMambaGgufNames[] = {{"mixer.x_proj.", "ssm_x."},
                                               {"mixer.dt_proj.", "ssm_dt."},
                                               {"mixer.dt_layernorm.", "ssm_dt_norm."},
                                               {"mixer.b_layernorm.", "ssm_b_norm."},
                                               {"mixer.c_layernorm.", "ssm_c_norm."}};

inline constexpr PassedFields kMambaPassedJson[] = {
    {"what intermediate_size was made from, and is read where that is missing", "", "expand"},
    {"which of several ways to compute the same is taken", "falcon_mamba", "use_falcon_mambapy"},
    kPaddedVocabulary};

inline constexpr ModelType kMambaTypes[] = {
    {.name = MambaFamily::kModelType, .read = ReadOne<ReadMamba>, .fact_names = kMambaFactNames},
    {.name = FalconMambaFamily::kModelType, .read = ReadOne<ReadFalconMamba>, .fact_names = kMambaFactNames}};

inline void TellSelectionNorm(const ModelSpec& spec, nlohmann::json& fields) {
  if (FindLayer<Mamba>(spec)->selection_norm) fields["ssm.dt_b_c_rms"] = true;
}

inline constexpr GgufArchitecture kMambaArchitectures[] = {
    {.name = "mamba", .read = ReadOneGguf<ReadMambaGguf>, .is_written = true, .tell = TellSelectionNorm}};

struct MambaRow {
  static constexpr FamilyRow kRow = {.name = "Mamba, Falcon Mamba",
                                     .special = "selective state spaces alone: no attention",
                                     .model_types = kMambaTypes,
                                     .architectures = kMambaArchitectures,
                                     .gguf_names = kMambaGgufNames,
                                     .own_names = kMambaTensors,
                                     .passed_json = kMambaPassedJson};
  using Published = ConfigTypes<Mamba_130M, Mamba_370M, Mamba_790M, Mamba_1_4B, Mamba_2_8B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MAMBA_DETAIL_FAMILY_H_
