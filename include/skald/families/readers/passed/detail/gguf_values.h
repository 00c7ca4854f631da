// SPDX-License-Identifier: Apache-2.0
//
// The values in the metadata of GGUF files, of those that carry the architecture's name in front, that cannot change a
// logit, or only where they are refused, and why. One that an architecture's reader asks for is not looked up here.
// Sources: gguf-py/gguf/constants.py, conversion/ and src/models/ of https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_READERS_PASSED_DETAIL_GGUF_VALUES_H_
#define SKALD_FAMILIES_READERS_PASSED_DETAIL_GGUF_VALUES_H_

#include "skald/families/readers/passed/detail/unread_fields.h"

namespace skald::internal {

inline constexpr PassedFields kPassedGguf[] = {
    {"how long a text may be", "", "context_length"},
    {"how many tokens there are: rows of the embedding say it", "", "vocab_size"},
    {"the way of the converter, which the architecture says", "", "tensor_data_layout"},
    {"only counts with YaRN or LongRoPE, and is read with them", "", "rope.scaling.original_context_length"},
    {"told to people alone; read where an architecture has layers without RoPE", "", "rope.scaling.finetuned"},
    {"positions in images; a text's are the same in every section", "", "rope.dimension_sections"},
    {"the epsilon of LayerNorms, of which the architecture has none; read where it has", "",
     "attention.layer_norm_epsilon"},

    {"how rows become one embedding, and classes: OpenEncoder reads it", "",
     "pooling_type classifier.output_labels classifier.pooling_type"},

    // Values that mean as much as none.
    {"attention looks back", "", "attention.causal", true},
    {"every layer sees all", "", "attention.sliding_window", 0.0},
    {"no layers that predict further tokens", "", "nextn_predict_layers", 0.0},
    {"no experts, and none that all rows share", "",
     "expert_count expert_used_count expert_shared_count expert_feed_forward_length expert_shared_feed_forward_length "
     "leading_dense_block_count interleave_moe_layer_step",
     0.0},
    {"experts are in no groups", "", "expert_group_count expert_group_used_count", 0.0},
    {"experts are in no groups", "", "expert_group_count expert_group_used_count", 1.0},
    {"the experts' weights are as they are", "", "expert_weights_scale", 1.0},
    {"the experts' weights are as they are", "", "expert_weights_scale", 0.0},
    {"RoPE is not scaled", "", "rope.scaling.type", "none"},
    {"RoPE is not scaled", "", "rope.scaling.factor rope.scale_linear rope.scaling.attn_factor", 1.0},
    {"RoPE is not scaled", "", "rope.scaling.factor", 0.0},
    {"YaRN as its paper has it", "", "rope.scaling.yarn_ext_factor rope.scaling.yarn_attn_factor", 1.0},
    {"nothing is scaled", "", "logit_scale residual_scale embedding_scale", 1.0},
    {"nothing is clamped or capped", "",
     "attention.clamp_kqv attention.max_alibi_bias attn_logit_softcapping final_logit_softcapping "
     "router_logit_softcapping",
     0.0},
    {"one after the other", "", "use_parallel_residual", false},
    {"no inputs for each layer", "", "embedding_length_per_layer_input attention.shared_kv_layers", 0.0},
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_PASSED_DETAIL_GGUF_VALUES_H_
