// SPDX-License-Identifier: Apache-2.0
//
// ModernBERT: its row of the registry.

#ifndef SKALD_FAMILIES_MODERNBERT_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MODERNBERT_DETAIL_FAMILY_H_

#include <string_view>

#include "skald/families/bert/detail/bert.h"
#include "skald/families/modernbert/modernbert.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

// Which layers are local: all but each third, if "layer_types" does not say.
inline LayerFlags ModernBertSlidingLayers(const JsonFields& fields) {
  const size_t count = LayerCount(fields);
  const auto nth = static_cast<size_t>(fields.Size("global_attn_every_n_layers", 3));
  LayerFlags slides;
  for (size_t i = 0; i < count; ++i) slides.push_back(i % nth != 0);
  return ReadSlidingLayers(fields, count).value_or(slides);
}

inline DescribedModel ReadModernBert(const JsonFields& fields) {
  ModernBertSizes sizes = {.model_dim = fields.Size("hidden_size"),
                           .vocab_size = fields.Size("vocab_size"),
                           .heads = fields.Size("num_attention_heads"),
                           .feed_forward_dim = fields.Size("intermediate_size")};
  sizes.slides = ModernBertSlidingLayers(fields);
  sizes.window = fields.Size("local_attention", 128) / 2 + 1;
  sizes.activation = ReadActivation(fields, sizes.activation, /*gelu_means_tanh=*/false);
  sizes.norm.epsilon = static_cast<float>(fields.Positive("norm_eps", 1e-5));
  sizes.norm.bias = fields.Flag("norm_bias", false);
  sizes.attention_bias = fields.Flag("attention_bias", false);
  sizes.feed_forward_bias = fields.Flag("mlp_bias", false);
  if (sizes.model_dim % sizes.heads != 0) {
    fields.WrongValue("num_attention_heads", sizes.heads, "a divisor of hidden_size");
    sizes.heads = 1;
  }
  ShortForm a;
  a.head_dim = sizes.model_dim / sizes.heads;
  a.rope.base = fields.Positive("global_rope_theta", sizes.rope.base);
  a.sliding_rope = RopeSpec{.base = fields.Positive("local_rope_theta", sizes.sliding_rope.base)};
  ReadRopes(fields, /*may_be_partial=*/false, a);
  sizes.rope = a.rope;
  sizes.sliding_rope = *a.sliding_rope;
  return {ModernBertFamily::kModelType, ModernBertSpec(sizes)};
}

// Where the file does not say it, each third layer sees all, from the first on.
inline DescribedModel ReadModernBertGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const BertSizes same = ReadGgufBertSizes(fields, facts);
  ModernBertSizes sizes = {.model_dim = same.model_dim,
                           .vocab_size = same.vocab_size,
                           .heads = same.heads,
                           .feed_forward_dim = same.feed_forward_dim};
  const int nth = fields.Size("attention.sliding_window_pattern", 3);
  for (int i = 0; i < same.layers; ++i) sizes.slides.push_back(i % nth == 0 ? 0 : 1);
  sizes.window = fields.Size("attention.sliding_window") / 2 + 1;
  sizes.norm.epsilon = same.norm.epsilon;
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(sizes.model_dim / sizes.heads));
  sizes.sliding_rope.base = fields.Positive("rope.freq_base_swa", 10000.0);
  fields.Expect("rope.dimension_count", sizes.model_dim / sizes.heads);
  fields.Expect("hidden_act", "gelu");
  return {ModernBertFamily::kModelType, ModernBertSpec(sizes)};
}

inline constexpr Renaming kModernBertNames[] = {{"embedding_norm.", "embeddings.norm."},
                                                {"input_layernorm.", "attn_norm."},
                                                {"self_attn.q_proj.", "attn.Wqkv."},
                                                {"self_attn.k_proj.", "attn.Wqkv."},
                                                {"self_attn.v_proj.", "attn.Wqkv."},
                                                {"self_attn.o_proj.", "attn.Wo."},
                                                {"feed_forward_norm.", "mlp_norm."},
                                                {"mlp.gate_proj.", "mlp.Wi."},
                                                {"mlp.up_proj.", "mlp.Wi."},
                                                {"mlp.down_proj.", "mlp.Wo."}};

inline constexpr std::string_view kModernBertHeads[] = {"head.", "decoder.", "classifier."};

constexpr TensorNames ModernBertTensors(std::string_view body) {
  return {.body = body,
          .head = "decoder.",
          .embedding = "embeddings.tok_embeddings.weight",
          .final_norm = "final_norm.",
          .renamings = kModernBertNames,
          .mark = "attn.Wqkv.weight",
          .other_parts = kModernBertHeads};
}

inline constexpr TensorNames kModernBertTensors[] = {ModernBertTensors(""), ModernBertTensors("model.")};

inline constexpr PassedFields kModernBertPassedJson[] = {
    {"how the model is trained", "", "mlp_dropout embedding_dropout initializer_cutoff_factor"},
    {"which of several ways to compute the same is taken", "",
     "deterministic_flash_attn reference_compile repad_logits_with_grad sparse_pred_ignore_index sparse_prediction"},
    {"of heads for other tasks, which are read with them", "",
     "decoder_bias classifier_activation classifier_bias classifier_pooling tie_word_embeddings sentence_transformers"},
    {"the older names of norm_eps and of no learned positions", "", "layer_norm_eps position_embedding_type"}};

inline constexpr ModelType kModernBertTypes[] = {
    {.name = ModernBertFamily::kModelType, .read = ReadOne<ReadModernBert>}};

// Windows are counted on both sides of a token.
inline void TellModernBert(const ModelSpec& spec, nlohmann::json& fields) {
  TellEncoder(spec, fields);
  const auto* const sliding = FindLayer<Attention>(spec, [](const Attention& one) { return one.window > 0; });
  if (sliding != nullptr) fields["attention.sliding_window"] = 2 * (sliding->window - 1);
}

// Gates and what they multiply are in one tensor, as queries, keys and values are.
inline constexpr Renaming kModernBertWrittenNames[] = {{"self_attn.q_proj.", "attn_qkv."},
                                                       {"self_attn.k_proj.", "attn_qkv."},
                                                       {"self_attn.v_proj.", "attn_qkv."},
                                                       {"mlp.gate_proj.", "ffn_up."}};

inline constexpr GgufArchitecture kModernBertArchitectures[] = {{.name = "modern-bert",
                                                                 .read = ReadOneGguf<ReadModernBertGguf>,
                                                                 .is_written = true,
                                                                 .tell = TellModernBert,
                                                                 .written_names = kModernBertWrittenNames}};

struct ModernBertRow {
  static constexpr FamilyRow kRow = {.name = "ModernBERT (encoder)",
                                     .special = "attention both ways with RoPE, most layers within a window, GeGLU",
                                     .model_types = kModernBertTypes,
                                     .architectures = kModernBertArchitectures,
                                     .own_names = kModernBertTensors,
                                     .passed_json = kModernBertPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MODERNBERT_DETAIL_FAMILY_H_
