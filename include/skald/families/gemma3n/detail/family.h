// SPDX-License-Identifier: Apache-2.0
//
// Gemma 3n: what config.json and the metadata of GGUF files say, and its row of the registry. Sources: models/gemma3n
// of version 5 of https://github.com/huggingface/transformers; conversion/gemma.py and src/models/gemma3n.cpp of
// https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_FAMILIES_GEMMA3N_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GEMMA3N_DETAIL_FAMILY_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/gemma3n/gemma3n.h"
#include "skald/families/gemma4/detail/gemma4.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/layer_types.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/altup/streams.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

inline constexpr int kMaxAltUp = 8;  // streams; beyond every model there is

// Returns which layers slide: all but each fifth where "layer_types" does not say.
inline LayerFlags Gemma3nSlidingLayers(const JsonFields& fields, size_t count) {
  LayerFlags slides;
  for (size_t i = 0; i < count; ++i) slides.push_back((i + 1) % 5 != 0);
  return ReadSlidingLayers(fields, count).value_or(slides);
}

// Returns which part of its gates each layer cuts, as the deviation from their mean: 95 of 100 in the first ten layers
// where the file does not say.
inline std::vector<float> Gemma3nCuts(const JsonFields& fields, size_t count) {
  constexpr const char* kName = "activation_sparsity_pattern";
  std::vector<float> cuts;
  for (size_t i = 0; i < count; ++i) cuts.push_back(count > 10 && i < 10 ? kGemma3nCut : 0.0f);
  const nlohmann::json* const parts = fields.Find(kName);
  if (parts == nullptr) return cuts;
  if (!parts->is_array() || parts->size() != count) {
    fields.WrongValue(kName, *parts, "an array of num_hidden_layers numbers");
    return cuts;
  }
  for (size_t i = 0; i < count; ++i) {
    const double part = (*parts)[i].is_number() ? (*parts)[i].get<double>() : -1.0;
    cuts[i] = part == 0.0 ? 0.0f : kGemma3nCut;
    if (part != 0.0 && part != 0.95) fields.Unsupported(kName, (*parts)[i], "0 and 0.95");
  }
  return cuts;
}

inline DescribedModel ReadGemma3n(const JsonFields& fields) {
  fields.Expect("attention_bias", false);
  fields.Expect("hidden_activation", "gelu_pytorch_tanh");
  fields.Expect("altup_active_idx", 0);
  Gemma3nSizes sizes = {.model_dim = fields.Size("hidden_size", 2048), .vocab_size = fields.Size("vocab_size", 262400)};
  const size_t layers = LayerCount(fields);
  sizes.slides = Gemma3nSlidingLayers(fields, layers);
  sizes.widths = ReadForEachLayer(fields, "intermediate_size", layers);
  sizes.cuts = Gemma3nCuts(fields, layers);
  sizes.heads = fields.Size("num_attention_heads", sizes.heads);
  sizes.kv_heads = fields.Size("num_key_value_heads", sizes.kv_heads);
  sizes.head_dim = fields.Size("head_dim", sizes.head_dim);
  sizes.window = fields.Size("sliding_window", sizes.window);
  sizes.shared_layers = fields.Integer("num_kv_shared_layers", 0, static_cast<int>(layers) - 1, 15);
  sizes.per_layer_dim = fields.Size("hidden_size_per_layer_input", sizes.per_layer_dim);
  sizes.per_layer_vocab = fields.Integer("vocab_size_per_layer_input", 1, sizes.vocab_size, sizes.per_layer_vocab);
  sizes.streams = fields.Integer("altup_num_inputs", 2, kMaxAltUp, sizes.streams);
  sizes.scaled_correction = fields.Flag("altup_correct_scale", true);
  sizes.laurel_rank = fields.Size("laurel_rank", sizes.laurel_rank);
  sizes.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", double{sizes.norm_epsilon}));
  sizes.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", sizes.final_softcap);
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", true);
  ShortForm ropes = {.head_dim = sizes.head_dim};
  ropes.rope = sizes.rope, ropes.sliding_rope = sizes.sliding_rope;
  ReadRopes(fields, /*may_be_partial=*/false, ropes);
  sizes.rope = WithoutUnusedFields(ropes.rope), sizes.sliding_rope = WithoutUnusedFields(*ropes.sliding_rope);
  return {Gemma3nFamily::kModelType, Gemma3nSpec(sizes)};
}

// Reads an array that has an element for each layer, each as value(element).
template <class T, class Value>
std::vector<T> ReadGemma3nArray(const JsonFields& fields, const char* name, size_t layers, Value value) {
  std::vector<T> values(layers, T{});
  const nlohmann::json* const found = fields.Find(name);
  if (found == nullptr) {
    fields.Missing(name);
  } else if (!found->is_array() || found->size() != layers) {
    fields.WrongValue(name, *found, "an array of block_count values");
  } else {
    for (size_t i = 0; i < layers; ++i) values[i] = value((*found)[i]);
  }
  return values;
}

// Layers whose gates are not cut have minus infinity for the deviation.
inline DescribedModel ReadGemma3nGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  constexpr const char* kCuts = "activation_sparsity_scale";
  Gemma3nSizes sizes = {.model_dim = fields.Size("embedding_length"), .vocab_size = facts.vocab_size};
  const auto layers = static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers));
  sizes.slides = ReadGemma3nArray<unsigned char>(fields, "attention.sliding_window_pattern", layers,
                                                 [](const auto& one) { return one == nlohmann::json(true); });
  sizes.widths = ReadForEachLayer(fields, "feed_forward_length", layers);
  sizes.cuts = ReadGemma3nArray<float>(fields, kCuts, layers, [&](const auto& one) {
    const double cut = one.is_number() ? one.template get<double>() : 0.0;
    const bool is_none = cut < -1e30;
    if (!is_none && !(std::abs(cut - double{kGemma3nCut}) < 1e-5)) {
      fields.Unsupported(kCuts, one, "those of 0 and 0.95");
    }
    return is_none ? 0.0f : kGemma3nCut;
  });
  sizes.heads = fields.Size("attention.head_count");
  sizes.kv_heads = fields.Size("attention.head_count_kv");
  sizes.head_dim = fields.Size("attention.key_length");
  fields.Expect("attention.value_length", sizes.head_dim);
  fields.Expect("rope.dimension_count", sizes.head_dim);
  sizes.window = fields.Size("attention.sliding_window");
  sizes.shared_layers = fields.Integer("attention.shared_kv_layers", 0, static_cast<int>(layers) - 1, 0);
  sizes.per_layer_dim = fields.Size("embedding_length_per_layer_input");
  sizes.per_layer_vocab = sizes.vocab_size;
  fields.Expect("altup.active_idx", 0);
  sizes.streams = fields.Integer("altup.num_inputs", 2, kMaxAltUp);
  sizes.laurel_rank = facts.laurel_rank;
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", sizes.final_softcap);
  sizes.tied_embeddings = !facts.has_head;
  sizes.rope = ReadGgufRope(fields, facts, static_cast<size_t>(sizes.head_dim));
  sizes.sliding_rope.base = fields.Positive("rope.freq_base_swa", sizes.sliding_rope.base);
  return {Gemma3nFamily::kModelType, Gemma3nSpec(sizes)};
}

inline constexpr Renaming kGemma3nNames[] = {{"altup_projections.", "altup_projections.#."},
                                             {"altup_unembed_projections.", "altup_unembed_projections.#."}};

// Besides those of Gemma 4.
inline constexpr Renaming kGemma3nGgufNames[] = {{"altup_projections.", "altup_proj."},
                                                 {"altup_unembed_projections.", "altup_unembd_proj."},
                                                 {"altup.correction_coefs.", "altup_correct_coef."},
                                                 {"altup.correct_output_scale", "altup_correct_scale.weight"},
                                                 {"altup.prediction_coefs.", "altup_predict_coef."},
                                                 {"altup.modality_router.", "altup_router."},
                                                 {"altup.router_norm.", "altup_router_norm."},
                                                 {"laurel.linear_left.", "laurel_l."},
                                                 {"laurel.linear_right.", "laurel_r."},
                                                 {"laurel.post_laurel_norm.", "laurel_post_norm."}};

inline constexpr PassedFields kGemma3nPassedJson[] = {
    {"how the model is trained", "", "altup_lr_multiplier altup_coef_clip"},
    {"scores are not scaled, whatever it says", "", "query_pre_attn_scalar"}};

inline constexpr ModelType kGemma3nTypes[] = {
    {.name = Gemma3nFamily::kModelType, .read = ReadOne<ReadGemma3n>, .outer = "gemma3n"}};

inline void TellGemma3n(const ModelSpec& spec, nlohmann::json& fields) {
  std::vector<float> cuts;
  ForEachLayer<GatedFeedForward>(spec, [&](const GatedFeedForward& layer, uint32_t) {
    cuts.push_back(layer.gate_deviations > 0.0f ? layer.gate_deviations : -std::numeric_limits<float>::infinity());
  });
  fields["activation_sparsity_scale"] = cuts;
  fields["altup.active_idx"] = 0;
  fields["altup.num_inputs"] = FindLayer<AltUpEntry>(spec)->streams;
}

// All tokens have inputs for each layer there.
inline ModelSpec Gemma3nAsWritten(ModelSpec spec) {
  spec.per_layer_vocab = 0;
  return spec;
}

inline void ChangeGemma3n(const ModelSpec& spec, GgufDraft& draft) {
  const auto count = static_cast<uint64_t>(spec.per_layer_vocab);
  if (count == 0) return;
  ChangeTensors(draft, {"per_layer_token_embd.weight"}, [&](DraftTensor& tensor) {
    TakeRows(tensor, static_cast<uint64_t>(spec.vocab_size), [count](uint64_t row) { return row < count ? row : 0; });
  });
}

inline constexpr GgufArchitecture kGemma3nArchitectures[] = {{.name = "gemma3n",
                                                              .read = ReadOneGguf<ReadGemma3nGguf>,
                                                              .is_written = true,
                                                              .tell = TellGemma3n,
                                                              .as_written = Gemma3nAsWritten,
                                                              .change_draft = ChangeGemma3n,
                                                              .writes_unused = true}};

struct Gemma3nRow {
  static constexpr FamilyRow kRow = {
      .name = "Gemma 3n (text)",
      .special = "alternating updates of four streams, learned augmented residual layers, gates of which most are cut",
      .model_types = kGemma3nTypes,
      .architectures = kGemma3nArchitectures,
      .names = kGemma3nNames,
      .gguf_names = kGemma3nGgufNames,
      .passed_json = kGemma3nPassedJson};
  using Published = ConfigTypes<Gemma3n_E2B, Gemma3n_E4B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GEMMA3N_DETAIL_FAMILY_H_
