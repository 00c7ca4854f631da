// SPDX-License-Identifier: Apache-2.0
//
// PLaMo 2: what config.json and the metadata of GGUF files say, and its row of the registry. Sources: the authors' code
// as they gave it to https://github.com/ml-explore/mlx-examples (llms/mlx_lm/models/plamo2.py, commit 00d13eb) and to
// https://github.com/vllm-project/vllm; conversion/plamo.py and src/models/plamo2.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_PLAMO2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_PLAMO2_DETAIL_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/described_model.h"
#include "skald/families/plamo2/plamo2.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/recurrent/selective_mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

// A window that files do not say, or say as the tokens before one.
inline constexpr int kPlamo2Window = 2048, kMaxPlamo2Window = 1 << 30;

inline DescribedModel ReadPlamo2(const JsonFields& fields) {
  Plamo2Sizes sizes = {.model_dim = fields.Size("hidden_size", 4096),
                       .vocab_size = fields.Size("vocab_size", 32000),
                       .feed_forward_dim = fields.Size("intermediate_size", 13312),
                       .heads = fields.Size("num_attention_heads", 32),
                       .kv_heads = fields.Size("num_key_value_heads", 4),
                       .head_dim = fields.Size("hidden_size_per_head", 128),
                       .window = fields.Integer("attention_window_size", 1, kMaxPlamo2Window, kPlamo2Window) + 1,
                       .mamba_heads = fields.Size("mamba_num_heads", 64),
                       .state_dim = fields.Size("mamba_d_state", 64),
                       .conv_width = fields.Size("mamba_d_conv", 4)};
  fields.Expect("mamba_enabled", true);
  fields.Expect("linear_type", "normal");
  fields.Expect("rope_theta", 10000);
  fields.Expect("rope_local_theta", 10000);
  fields.Expect("rope_scaling", nullptr);
  const size_t layers = LayerCount(fields);
  sizes.attends = Plamo2Attends(layers, static_cast<size_t>(fields.Integer("mamba_step", 2, kMaxLayers, 2)));
  sizes.is_full.assign(layers, 0);
  for (const uint32_t layer : ReadLayerNumbers(fields, "full_attention_idx")) {
    if (layer < layers) sizes.is_full[layer] = 1;
  }
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", double{sizes.norm_epsilon}));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  return {Plamo2Family::kModelType, Plamo2Spec(sizes)};
}

// Layers without key and value heads are Mamba's. Files say nothing of windows: they have that of the published models.
inline DescribedModel ReadPlamo2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  constexpr const char* kHeads = "attention.head_count_kv";
  Plamo2Sizes sizes = {.model_dim = fields.Size("embedding_length"),
                       .vocab_size = facts.vocab_size,
                       .feed_forward_dim = fields.Size("feed_forward_length"),
                       .heads = ReadLayersNumber(fields, "attention.head_count"),
                       .kv_heads = ReadLayersNumber(fields, kHeads),
                       .head_dim = fields.Size("attention.key_length"),
                       .window = kPlamo2Window + 1,
                       .mamba_heads = fields.Size("ssm.time_step_rank"),
                       .state_dim = fields.Size("ssm.state_size"),
                       .conv_width = fields.Size("ssm.conv_kernel")};
  fields.Expect("attention.value_length", sizes.head_dim);
  fields.Expect("ssm.inner_size", sizes.mamba_heads * sizes.head_dim);
  fields.Expect("ssm.group_count", 0);
  fields.Expect("rope.freq_base", 10000.0);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  const auto layers = static_cast<size_t>(GgufLayerCount(fields));
  const nlohmann::json* const heads = fields.Find(kHeads);
  if (heads == nullptr || !heads->is_array() || heads->size() != layers) {
    fields.WrongValue(kHeads, heads == nullptr ? nlohmann::json() : *heads, "an array of block_count whole numbers");
    return {};
  }
  for (const nlohmann::json& of_layer : *heads) sizes.attends.push_back(of_layer != nlohmann::json(0));
  return {Plamo2Family::kModelType, Plamo2Spec(sizes)};
}

inline void TellPlamo2(const ModelSpec& spec, nlohmann::json& fields) {
  for (const char* const name : {"attention.sliding_window", "rope.dimension_count"}) fields.erase(name);
  NumbersOfLayers heads(spec);
  ForEachLayer<Attention>(spec, [&](const Attention& layer, uint32_t number) { heads.Set(number, layer.heads); });
  fields["attention.head_count"] = heads.Value();
  const auto* const mamba = FindLayer<SelectiveMamba2>(spec);
  if (mamba == nullptr) return;
  fields["ssm.conv_kernel"] = mamba->conv_width;
  fields["ssm.inner_size"] = mamba->heads * mamba->head_dim;
  fields["ssm.state_size"] = mamba->state_dim;
  fields["ssm.time_step_rank"] = mamba->heads;
  fields["ssm.group_count"] = 0;
}

// The gates of all heads, then what recurs, become the two of each head by turns.
inline void ChangePlamo2(const ModelSpec& spec, GgufDraft& draft) {
  const auto* const mamba = FindLayer<SelectiveMamba2>(spec);
  if (mamba == nullptr) return;
  const auto size = static_cast<uint64_t>(mamba->head_dim), all = static_cast<uint64_t>(mamba->heads) * size;
  ChangeTensors(draft, {".ssm_in.weight"}, [&](DraftTensor& tensor) {
    TakeRows(tensor, 2 * all, [size, all](uint64_t row) {
      const uint64_t head = row / (2 * size), within = row % (2 * size);
      return head * size + (within < size ? within : all + within - size);
    });
  });
}

inline constexpr FactRenaming kPlamo2FactNames[] = {{"head_dim", "hidden_size_per_head"},
                                                    {"num_heads", "mamba_num_heads"},
                                                    {"state_size", "mamba_d_state"},
                                                    {"conv_kernel", "mamba_d_conv"},
                                                    {"sliding_window", "attention_window_size + 1"}};

// Each head's gates and what recurs, one after the other.
inline constexpr RowLayout kByMambaHeads = {.by_units = true};

inline constexpr Renaming kPlamo2Names[] = {{"input_layernorm.", "pre_mixer_norm."},
                                            {"post_attention_layernorm.", "post_mixer_norm."},
                                            {"pre_feedforward_layernorm.", "pre_mlp_norm."},
                                            {"post_feedforward_layernorm.", "post_mlp_norm."},
                                            {"self_attn.q_proj.", "mixer.qkv_proj."},
                                            {"self_attn.k_proj.", "mixer.qkv_proj."},
                                            {"self_attn.v_proj.", "mixer.qkv_proj."},
                                            {"self_attn.q_norm.weight", "mixer.q_weight"},
                                            {"self_attn.k_norm.weight", "mixer.k_weight"},
                                            {"self_attn.o_proj.", "mixer.o_proj."},
                                            {"mixer.z_proj.", "mixer.in_proj.", kByMambaHeads},
                                            {"mixer.x_in_proj.", "mixer.in_proj.", kByMambaHeads},
                                            {"mixer.b_layernorm.weight", "mixer.B_norm_weight"},
                                            {"mixer.c_layernorm.weight", "mixer.C_norm_weight"},
                                            {"mixer.dt_layernorm.weight", "mixer.dt_norm_weight"},
                                            {"mlp.gate_proj.", "mlp.gate_up_proj."},
                                            {"mlp.up_proj.", "mlp.gate_up_proj."}};

inline constexpr TensorNames kPlamo2Tensors[] = {{.body = "model.",
                                                  .head = "lm_head.",
                                                  .layers = "layers.layers.",
                                                  .renamings = kPlamo2Names,
                                                  .mark = "pre_mixer_norm.weight"}};

// Besides those of Mamba and Phi-3. Norms after layers, and within them, have no ending.
inline constexpr Renaming kPlamo2GgufNames[] = {{"post_attention_layernorm.weight", "post_attention_norm"},
                                                {"post_feedforward_layernorm.weight", "post_ffw_norm"},
                                                {"mixer.z_proj.", "ssm_in.", kByMambaHeads},
                                                {"mixer.x_in_proj.", "ssm_in.", kByMambaHeads},
                                                {"mixer.bcdt_proj.", "ssm_x."},
                                                {"mixer.b_layernorm.weight", "ssm_b_norm"},
                                                {"mixer.c_layernorm.weight", "ssm_c_norm"},
                                                {"mixer.dt_layernorm.weight", "ssm_dt_norm"}};

// The same to be written, where ChangePlamo2 gives rows their order.
inline constexpr Renaming kPlamo2WrittenNames[] = {{"self_attn.q_proj.", "attn_qkv."},
                                                   {"self_attn.k_proj.", "attn_qkv."},
                                                   {"self_attn.v_proj.", "attn_qkv."},
                                                   {"mlp.gate_proj.", "ffn_up."},
                                                   {"post_attention_layernorm.weight", "post_attention_norm"},
                                                   {"post_feedforward_layernorm.weight", "post_ffw_norm"},
                                                   {"mixer.z_proj.", "ssm_in."},
                                                   {"mixer.x_in_proj.", "ssm_in."},
                                                   {"mixer.bcdt_proj.", "ssm_x."},
                                                   {"mixer.b_layernorm.weight", "ssm_b_norm"},
                                                   {"mixer.c_layernorm.weight", "ssm_c_norm"},
                                                   {"mixer.dt_layernorm.weight", "ssm_dt_norm"}};

inline constexpr PassedFields kPlamo2PassedJson[] = {
    {"how the authors' program computes in other numbers", "", "fp8_accum_dtype"},
    {"of evaluations by the authors", "", "eval_attention_n_bit eval_mlp_n_bit"},
    {"of images, which are not read", "", "image_feature_size image_proj_type"}};

inline constexpr ModelType kPlamo2Types[] = {
    {.name = Plamo2Family::kModelType, .read = ReadOne<ReadPlamo2>, .fact_names = kPlamo2FactNames}};

inline constexpr GgufArchitecture kPlamo2Architectures[] = {{.name = "plamo2",
                                                             .read = ReadOneGguf<ReadPlamo2Gguf>,
                                                             .is_written = true,
                                                             .tell = TellPlamo2,
                                                             .written_names = kPlamo2WrittenNames,
                                                             .change_draft = ChangePlamo2}};

struct Plamo2Row {
  static constexpr FamilyRow kRow = {
      .name = "PLaMo 2",
      .special = "Mamba-2 with the projections of Mamba, attention within a window, norms before and after layers",
      .original = "the authors' code",
      .model_types = kPlamo2Types,
      .architectures = kPlamo2Architectures,
      .gguf_names = kPlamo2GgufNames,
      .own_names = kPlamo2Tensors,
      .passed_json = kPlamo2PassedJson};
  using Published = ConfigTypes<Plamo2_1B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_PLAMO2_DETAIL_FAMILY_H_
