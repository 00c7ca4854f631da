// SPDX-License-Identifier: Apache-2.0
//
// Falcon-H1: its row of the registry.

#ifndef SKALD_FAMILIES_FALCON_H1_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_FALCON_H1_DETAIL_FAMILY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "skald/families/falcon_h1/detail/falcon_h1.h"
#include "skald/families/falcon_h1/falcon_h1.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

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

// Multipliers go into weights. Where the head is the embedding, it cannot have one of its own.
inline ModelSpec FalconH1AsWritten(ModelSpec spec) {
  spec.embedding_multiplier = 1.0f;
  if (!spec.tied_embeddings) spec.logits_scaling = 1.0f;
  for (Block& block : spec.blocks) block.residual_multiplier = 1.0f;
  ChangeLayers<Attention>(spec, [](Attention& layer) {
    layer.query_pre_scale = layer.head_dim;
    layer.output_multiplier = 1.0f;
  });
  ChangeLayers<Mamba2>(spec, [](Mamba2& layer) {
    layer.input_multipliers.clear();
    layer.output_multiplier = 1.0f;
  });
  ChangeLayers<GatedFeedForward>(spec, [](GatedFeedForward& layer) { layer.gate_multiplier = 1.0f; });
  return spec;
}

// Keys have the multiplier of scores.
inline void ChangeFalconH1(const ModelSpec& spec, GgufDraft& draft) {
  ChangeMamba2(spec, draft);
  const Attention attention = *FindLayer<Attention>(spec);
  const Mamba2 mamba = *FindLayer<Mamba2>(spec);
  const std::pair<const char*, double> factors[] = {
      {"token_embd.weight", spec.embedding_multiplier},
      {"output.weight", 1.0 / double{spec.logits_scaling}},
      {".attn_k.weight", std::sqrt(attention.head_dim / attention.query_pre_scale)},
      {".attn_output.weight", attention.output_multiplier},
      {".ssm_out.weight", mamba.output_multiplier},
      {".ffn_gate.weight", FindLayer<GatedFeedForward>(spec)->gate_multiplier},
      {".ffn_down.weight", spec.blocks[1].residual_multiplier}};
  for (const auto& [name, factor] : factors) MultiplyTensors(draft, name, static_cast<float>(factor));
  if (mamba.input_multipliers.empty()) return;
  const uint64_t width = static_cast<uint64_t>(mamba.heads) * static_cast<uint64_t>(mamba.head_dim);
  const uint64_t state = static_cast<uint64_t>(mamba.groups) * static_cast<uint64_t>(mamba.state_dim);
  ChangeTensors(draft, {".ssm_in.weight"}, [&](DraftTensor& tensor) {
    MultiplyRows(tensor, [width, state, by = mamba.input_multipliers](uint64_t row) {
      return row < width ? by[0] : row < 2 * width ? by[1] : by[std::min<uint64_t>(2 + (row - 2 * width) / state, 4)];
    });
  });
}

inline constexpr GgufArchitecture kFalconH1Architectures[] = {
    {.name = "falcon-h1",
     .read = ReadOneGguf<ReadFalconH1Gguf>,
     .changed = ChangedWeights{Assumption::kNotMultiplied, "weights that the multipliers have gone into"},
     .is_written = true,
     .written_names = kFalconH1GgufNames,
     .as_written = FalconH1AsWritten,
     .change_draft = ChangeFalconH1}};

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
