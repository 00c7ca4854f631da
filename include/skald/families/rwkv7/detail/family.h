// SPDX-License-Identifier: Apache-2.0
//
// RWKV-7: its row of the registry.

#ifndef SKALD_FAMILIES_RWKV7_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_RWKV7_DETAIL_FAMILY_H_

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/rwkv7/detail/rwkv7.h"
#include "skald/families/rwkv7/rwkv7.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

inline constexpr FactRenaming kRwkv7FactNames[] = {{"layer_norm_eps", "norm_eps"}};

// As flash-linear-attention writes them.
inline constexpr Renaming kRwkv7Names[] = {
    {"embedding_norm.", "layers.0.pre_norm."}, {"input_layernorm.", "attn_norm."}, {"feed_forward_norm.", "ffn_norm."}};

inline constexpr TensorNames kRwkv7Tensors[] = {
    {.body = "model.", .head = "lm_head.", .embedding = "embeddings.weight", .renamings = kRwkv7Names}};

inline constexpr Renaming kRwkv7GgufNames[] = {{"feed_forward_norm.", "attn_norm_2."},
                                               {"embedding_norm.", "token_embd_norm."},
                                               {"attn.x_r", "time_mix_lerp_fused.weight"},
                                               {"attn.x_w", "time_mix_lerp_fused.weight"},
                                               {"attn.x_k", "time_mix_lerp_fused.weight"},
                                               {"attn.x_v", "time_mix_lerp_fused.weight"},
                                               {"attn.x_a", "time_mix_lerp_fused.weight"},
                                               {"attn.x_g", "time_mix_lerp_fused.weight"},
                                               {"attn.r_proj.", "time_mix_receptance."},
                                               {"attn.k_proj.", "time_mix_key."},
                                               {"attn.v_proj.", "time_mix_value."},
                                               {"attn.o_proj.", "time_mix_output."},
                                               {"attn.w_lora.lora.2.bias", "time_mix_w0.weight"},
                                               {"attn.w_lora.lora.0.", "time_mix_w1."},
                                               {"attn.w_lora.lora.2.", "time_mix_w2."},
                                               {"attn.a_lora.lora.2.bias", "time_mix_a0.weight"},
                                               {"attn.a_lora.lora.0.", "time_mix_a1."},
                                               {"attn.a_lora.lora.2.", "time_mix_a2."},
                                               {"attn.v_lora.lora.2.bias", "time_mix_v0.weight"},
                                               {"attn.v_lora.lora.0.", "time_mix_v1."},
                                               {"attn.v_lora.lora.2.", "time_mix_v2."},
                                               {"attn.g_lora.lora.0.", "time_mix_g1."},
                                               {"attn.g_lora.lora.2.", "time_mix_g2."},
                                               {"attn.k_k", "time_mix_k_k.weight"},
                                               {"attn.k_a", "time_mix_k_a.weight"},
                                               {"attn.r_k", "time_mix_r_k.weight"},
                                               {"attn.g_norm.", "time_mix_ln."},
                                               {"ffn.x_k", "channel_mix_lerp_k.weight"},
                                               {"ffn.key.", "channel_mix_key."},
                                               {"ffn.value.", "channel_mix_value."}};

inline constexpr PassedFields kRwkv7PassedJson[] = {
    {"what intermediate_size was made from, and is read where that is missing", "", "hidden_ratio"},
    {"whatever a converter left there: heads are counted by their size", "", "num_heads"}};

inline constexpr PassedFields kRwkv7PassedGguf[] = {
    {"of positions, which are told by the architecture", "", "rope.dimension_count rope.freq_base"},
    {"heads are counted by their size", "", "attention.head_count attention.head_count_kv"}};

inline constexpr ModelType kRwkv7Types[] = {
    {.name = Rwkv7Family::kModelType, .read = ReadOne<ReadRwkv7>, .fact_names = kRwkv7FactNames}};

// Mixes are of one tensor. The first layer has no share of values of its own, but llama.cpp asks for what would make
// it, in the shapes of rates.
inline void ChangeRwkv7(const ModelSpec& spec, GgufDraft& draft) {
  const auto width = static_cast<uint64_t>(spec.model_dim);
  ChangeTensors(draft, {".time_mix_lerp_fused.weight"}, [width](DraftTensor& tensor) {
    tensor.shape = {tensor.shape.front() / width, 1, 1, width};
  });
  ChangeTensors(draft, {".time_mix_r_k.weight"}, [width](DraftTensor& tensor) {
    tensor.read_row = [read = std::move(tensor.read_row), head = tensor.cols()](uint64_t, std::span<float> values) {
      for (size_t i = 0; i < values.size(); i += head) read(i / head, values.subspan(i, head));
    };
    tensor.shape = {width};
  });
  std::vector<DraftTensor> unused;
  ChangeTensors(draft, {"blk.0.time_mix_a0.weight", "blk.0.time_mix_a1.weight", "blk.0.time_mix_a2.weight"},
                [&](const DraftTensor& tensor) {
                  unused.push_back(tensor);
                  std::string& name = unused.back().name;
                  name[name.find("_a") + 1] = 'v';
                });
  std::ranges::move(unused, std::back_inserter(draft.tensors));
}

inline constexpr Renaming kRwkvWrittenNames[] = {{"feed_forward_norm.", "attn_norm_2."}};

inline constexpr GgufArchitecture kRwkv7Architectures[] = {{.name = "rwkv7",
                                                            .read = ReadOneGguf<ReadRwkv7Gguf>,
                                                            .is_written = true,
                                                            .written_names = kRwkvWrittenNames,
                                                            .change_draft = ChangeRwkv7}};

struct Rwkv7Row {
  static constexpr FamilyRow kRow = {
      .name = "RWKV-7",
      .special =
          "a delta rule with decays by keys, token shift, LayerNorm, values carried from the first layer to the others",
      .original = "the authors' code",
      .model_types = kRwkv7Types,
      .architectures = kRwkv7Architectures,
      .gguf_names = kRwkv7GgufNames,
      .own_names = kRwkv7Tensors,
      .passed_json = kRwkv7PassedJson,
      .passed_gguf = kRwkv7PassedGguf};
  using Published = ConfigTypes<Rwkv7_0_1B, Rwkv7_0_4B, Rwkv7_1_5B, Rwkv7_2_9B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_RWKV7_DETAIL_FAMILY_H_
