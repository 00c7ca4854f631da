// SPDX-License-Identifier: Apache-2.0
//
// RWKV-6: what config.json and the metadata of GGUF files say, and its row of the registry. Sources:
// configuration_rwkv6.py beside the published checkpoints; conversion/rwkv.py and src/models/rwkv6.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_RWKV6_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_RWKV6_DETAIL_FAMILY_H_

#include <cstddef>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/rwkv6/rwkv6.h"
#include "skald/families/rwkv7/detail/family.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

inline void CheckRwkv6Heads(const JsonFields& fields, const char* name, const Rwkv6Sizes& sizes) {
  if (sizes.model_dim % sizes.head_dim != 0) fields.WrongValue(name, sizes.head_dim, "a divisor of the model's width");
}

// Ranks follow from the width, as in all published models.
inline DescribedModel ReadRwkv6(const JsonFields& fields) {
  constexpr int kWide = 4096;
  Rwkv6Sizes sizes = {.model_dim = fields.Size("hidden_size"),
                      .vocab_size = fields.Size("vocab_size"),
                      .layers = static_cast<int>(LayerCount(fields))};
  fields.Expect("attention_hidden_size", sizes.model_dim);
  const int standard = static_cast<int>(sizes.model_dim * 3.5) / 32 * 32;
  sizes.feed_forward_dim = fields.Size("intermediate_size", standard);
  sizes.head_dim = fields.Size("head_size", sizes.head_dim);
  CheckRwkv6Heads(fields, "head_size", sizes);
  if (sizes.model_dim == kWide) sizes.mix_rank = 64, sizes.decay_rank = 128;
  sizes.norm.epsilon = static_cast<float>(fields.Positive("layer_norm_epsilon", 1e-5));
  const double divisor = fields.Positive("head_size_divisor", 8.0);
  sizes.head_norm_epsilon = static_cast<float>(1e-5 * divisor * divisor);
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  return {Rwkv6Family::kModelType, Rwkv6Spec(sizes)};
}

// Files do not say the epsilon of the heads' norms: llama.cpp has that of heads of 64 for all.
inline DescribedModel ReadRwkv6Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  Rwkv6Sizes sizes = {.model_dim = fields.Size("embedding_length"),
                      .vocab_size = facts.vocab_size,
                      .layers = fields.Integer("block_count", 1, kMaxLayers),
                      .feed_forward_dim = fields.Size("feed_forward_length"),
                      .head_dim = fields.Size("wkv.head_size"),
                      .mix_rank = fields.Size("time_mix_extra_dim"),
                      .decay_rank = fields.Size("time_decay_extra_dim")};
  fields.Expect("token_shift_count", 2);
  CheckRwkv6Heads(fields, "wkv.head_size", sizes);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("attention.layer_norm_epsilon"));
  sizes.tied_embeddings = !facts.has_head;
  sizes.rescale_every = fields.Integer("rescale_every_n_layers", 0, kMaxLayers, 0);
  if (sizes.rescale_every > 0 && sizes.layers / sizes.rescale_every > 90) {
    fields.WrongValue("rescale_every_n_layers", sizes.rescale_every, "so many that layers are not doubled 90 times");
  }
  return {Rwkv6Family::kModelType, Rwkv6Spec(sizes)};
}

inline constexpr FactRenaming kRwkv6FactNames[] = {{"layer_norm_eps", "layer_norm_epsilon"}};

inline constexpr RowLayout kRwkv6Columns = {.transposed = true};

// As the published checkpoints have them.
inline constexpr Renaming kRwkv6Names[] = {{"embedding_norm.", "blocks.0.pre_ln."},
                                           {"input_layernorm.", "ln1."},
                                           {"feed_forward_norm.", "ln2."},
                                           {"attn.x_x", "attention.time_maa_x"},
                                           {"attn.x_w", "attention.time_maa_w"},
                                           {"attn.x_k", "attention.time_maa_k"},
                                           {"attn.x_v", "attention.time_maa_v"},
                                           {"attn.x_r", "attention.time_maa_r"},
                                           {"attn.x_g", "attention.time_maa_g"},
                                           {"attn.mix_down.weight", "attention.time_maa_w1", kRwkv6Columns},
                                           {"attn.mix_up.weight", "attention.time_maa_w2", kRwkv6Columns},
                                           {"attn.decay_down.weight", "attention.time_decay_w1", kRwkv6Columns},
                                           {"attn.decay_up.weight", "attention.time_decay_w2", kRwkv6Columns},
                                           {"attn.decay_bias", "attention.time_decay"},
                                           {"attn.bonus", "attention.time_faaaa"},
                                           {"attn.r_proj.", "attention.receptance."},
                                           {"attn.k_proj.", "attention.key."},
                                           {"attn.v_proj.", "attention.value."},
                                           {"attn.o_proj.", "attention.output."},
                                           {"attn.gate.", "attention.gate."},
                                           {"attn.g_norm.", "attention.ln_x."},
                                           {"ffn.x_k", "feed_forward.time_maa_k"},
                                           {"ffn.x_r", "feed_forward.time_maa_r"},
                                           {"ffn.", "feed_forward."}};

inline constexpr TensorNames kRwkv6Tensors[] = {{.body = "rwkv.",
                                                 .head = "head.",
                                                 .embedding = "embeddings.weight",
                                                 .final_norm = "ln_out.",
                                                 .layers = "blocks.",
                                                 .renamings = kRwkv6Names}};

// Besides those of RWKV-7; older files have each mix in a tensor.
inline constexpr Renaming kRwkv6GgufNames[] = {{"attn.x_x", "time_mix_lerp_x.weight"},
                                               {"attn.x_w", "time_mix_lerp_w.weight"},
                                               {"attn.x_k", "time_mix_lerp_k.weight"},
                                               {"attn.x_v", "time_mix_lerp_v.weight"},
                                               {"attn.x_r", "time_mix_lerp_r.weight"},
                                               {"attn.x_g", "time_mix_lerp_g.weight"},
                                               {"attn.mix_down.weight", "time_mix_w1.weight"},
                                               {"attn.mix_up.weight", "time_mix_w2.weight"},
                                               {"attn.decay_down.weight", "time_mix_decay_w1.weight"},
                                               {"attn.decay_up.weight", "time_mix_decay_w2.weight"},
                                               {"attn.decay_bias", "time_mix_decay.weight"},
                                               {"attn.bonus", "time_mix_first.weight"},
                                               {"attn.gate.", "time_mix_gate."},
                                               {"ffn.x_r", "channel_mix_lerp_r.weight"},
                                               {"ffn.receptance.", "channel_mix_receptance."}};

inline constexpr PassedFields kRwkv6PassedJson[] = {
    {"how the original program keeps numbers of float16 small, which changes none in float32", "", "rescale_every"},
    {"whatever a converter left there: heads are counted by their size", "", "num_attention_heads num_heads"},
    {"which model it is", "", "model_version"}};

inline constexpr PassedFields kRwkv6PassedGguf[] = {
    {"heads are counted by their size", "", "attention.head_count attention.head_count_kv"}};

inline constexpr ModelType kRwkv6Types[] = {
    {.name = Rwkv6Family::kModelType, .read = ReadOne<ReadRwkv6>, .fact_names = kRwkv6FactNames}};

// Mixes of one tensor.
inline void ChangeRwkv6(const ModelSpec& spec, GgufDraft& draft) {
  const auto width = static_cast<uint64_t>(spec.model_dim);
  ChangeTensors(draft, {".time_mix_lerp_fused.weight"}, [width](DraftTensor& tensor) {
    tensor.shape = {tensor.shape.front() / width, 1, 1, width};
  });
}

inline constexpr GgufArchitecture kRwkv6Architectures[] = {{.name = "rwkv6",
                                                            .read = ReadOneGguf<ReadRwkv6Gguf>,
                                                            .is_written = true,
                                                            .written_names = kRwkvWrittenNames,
                                                            .change_draft = ChangeRwkv6}};

struct Rwkv6Row {
  static constexpr FamilyRow kRow = {
      .name = "RWKV-6",
      .special = "sums that decay by keys, token shift that depends on the row, LayerNorm",
      .original = "the authors' code",
      .model_types = kRwkv6Types,
      .architectures = kRwkv6Architectures,
      .gguf_names = kRwkv6GgufNames,
      .own_names = kRwkv6Tensors,
      .passed_json = kRwkv6PassedJson,
      .passed_gguf = kRwkv6PassedGguf};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_RWKV6_DETAIL_FAMILY_H_
