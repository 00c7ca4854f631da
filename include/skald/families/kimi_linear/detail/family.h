// SPDX-License-Identifier: Apache-2.0
//
// Kimi Linear: its row of the registry.

#ifndef SKALD_FAMILIES_KIMI_LINEAR_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_KIMI_LINEAR_DETAIL_FAMILY_H_

#include "skald/families/kimi_linear/detail/kimi_linear.h"
#include "skald/families/kimi_linear/kimi_linear.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

inline constexpr FactRenaming kKimiLinearFactNames[] = {
    {"num_experts_per_tok", "num_experts_per_token"},
    {"norm_topk_prob", "moe_renormalize"},
    {"n_group", "num_expert_group"},
    {"shared_expert_intermediate_size", "num_shared_experts * moe_intermediate_size"},
    {"linear_num_heads", "num_heads of linear_attn_config"},
    {"linear_head_dim", "head_dim of linear_attn_config"},
    {"linear_conv_kernel_dim", "short_conv_kernel_size of linear_attn_config"}};

// Latent attention has the names of DeepSeek-V3, experts those of Mixtral. Some files have dense layers there too.
inline constexpr Renaming kKimiLinearNames[] = {{"mlp.shared_expert.", "block_sparse_moe.shared_experts."},
                                                {"mlp.gate_proj.", "block_sparse_moe.gate_proj."},
                                                {"mlp.up_proj.", "block_sparse_moe.up_proj."},
                                                {"mlp.down_proj.", "block_sparse_moe.down_proj."}};

inline constexpr Renaming kKimiLinearGgufNames[] = {{"self_attn.q_conv1d.", "ssm_conv1d_q."},
                                                    {"self_attn.k_conv1d.", "ssm_conv1d_k."},
                                                    {"self_attn.v_conv1d.", "ssm_conv1d_v."},
                                                    {"self_attn.f_a_proj.", "ssm_f_a."},
                                                    {"self_attn.f_b_proj.", "ssm_f_b."},
                                                    {"self_attn.g_a_proj.", "ssm_g_a."},
                                                    {"self_attn.g_b_proj.", "ssm_g_b."},
                                                    {"self_attn.b_proj.", "ssm_beta."},
                                                    {"self_attn.A_log", "ssm_a"},
                                                    {"self_attn.dt_bias", "ssm_dt.bias"},
                                                    {"self_attn.o_norm.", "ssm_norm."}};

inline constexpr PassedFields kKimiLinearPassedJson[] = {
    {"the older form of mlp_layer_types, which is read where that is missing", "", "first_k_dense_replace"},
    {"of a RoPE, which turns nothing", "", "rope_theta rope_scaling"},
    {"of no layer: those of both kinds have sizes of their own", "", "head_dim"},
    {"experts are chosen in groups, of which there is one where no more are named", "", "use_grouped_topk", true}};

inline constexpr PassedFields kKimiLinearPassedGguf[] = {{"of a RoPE, which turns nothing", "", "rope.freq_base"}};

inline constexpr ModelType kKimiLinearTypes[] = {
    {.name = KimiLinearFamily::kModelType, .read = ReadOne<ReadKimiLinear>, .fact_names = kKimiLinearFactNames}};

inline void ChangeKimiLinear(const ModelSpec& spec, GgufDraft& draft) {
  ChangeLatentQueries(spec, draft);
  MakeColumns(draft, {".ssm_a"});
  ChangeTensors(draft, {".ssm_conv1d_q.weight", ".ssm_conv1d_k.weight", ".ssm_conv1d_v.weight"},
                [](DraftTensor& tensor) { tensor.shape.insert(tensor.shape.begin() + 1, 1); });
}

inline constexpr GgufArchitecture kKimiLinearArchitectures[] = {{.name = "kimi-linear",
                                                                 .read = ReadOneGguf<ReadKimiLinearGguf>,
                                                                 .is_written = true,
                                                                 .tell = TellLaterExperts,
                                                                 .change_draft = ChangeKimiLinear}};

struct KimiLinearRow {
  static constexpr FamilyRow kRow = {
      .name = "Kimi Linear",
      .special = "a delta rule with decays by keys, latent attention without RoPE in each fourth layer, experts",
      .model_types = kKimiLinearTypes,
      .architectures = kKimiLinearArchitectures,
      .names = kKimiLinearNames,
      .gguf_names = kKimiLinearGgufNames,
      .passed_json = kKimiLinearPassedJson,
      .passed_gguf = kKimiLinearPassedGguf};
  using Published = ConfigTypes<KimiLinear_48B_A3B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_KIMI_LINEAR_DETAIL_FAMILY_H_
