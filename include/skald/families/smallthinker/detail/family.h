// SPDX-License-Identifier: Apache-2.0
//
// SmallThinker: its row of the registry.

#ifndef SKALD_FAMILIES_SMALLTHINKER_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_SMALLTHINKER_DETAIL_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/config_json_rope.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/families/smallthinker/smallthinker.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/wide_attention.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

// The model: each layer gives the residual stream to its router, then attention and experts follow. `slides` tells
// which layers have a window.
inline DescribedModel SmallThinkerModel(const ShortForm& a, const std::vector<bool>& slides) {
  ModelSpec spec = Expand(a);
  size_t layer = 0;
  ChangeLayers<Attention>(spec, [&](Attention& attention) {
    if (layer < slides.size() && slides[layer]) attention.window = a.window;
    ++layer;
  });
  std::vector<Block> blocks;
  for (Block& block : spec.blocks) {
    if (block.layers.front().As<Attention>() != nullptr) {
      blocks.push_back({.number = block.number, .norm = std::nullopt, .layers = {CarriedInput{.width = a.model_dim}}});
    }
    blocks.push_back(std::move(block));
  }
  spec.blocks = std::move(blocks);
  return {a.model_type, std::move(spec)};
}

inline MixtureOfExperts SmallThinkerExperts(MixtureOfExperts experts, bool has_softmax, int model_dim) {
  experts.activation = Activation::kRelu;
  experts.sigmoid = !has_softmax;
  experts.carried_dim = model_dim;
  return experts;
}

// Returns the truths that an array of 0 and 1 has for each layer; without one all are `standard`.
inline std::vector<bool> ReadLayout(const JsonFields& fields, const char* name, size_t count, bool standard) {
  std::vector<bool> layout;
  const nlohmann::json* const found = fields.Find(name);
  if (found == nullptr) return std::vector<bool>(count, standard);
  for (size_t i = 0; found->is_array() && i < found->size(); ++i) {
    const nlohmann::json& one = (*found)[i];
    layout.push_back(one == nlohmann::json(1));
    if (!layout.back() && one != nlohmann::json(0)) fields.WrongValue(name, one, "0 or 1 for each layer");
  }
  if (layout.size() == count) return layout;
  fields.WrongValue(name, *found, "an array of " + std::to_string(count) + ", one number for each layer");
  return std::vector<bool>(count, standard);
}

inline TextModel ReadSmallThinker(const JsonFields& fields) {
  ShortForm a = ShortFormOf<SmallThinkerFamily>();
  a.model_dim = fields.Size("hidden_size");
  a.vocab_size = fields.Size("vocab_size");
  a.heads = fields.Size("num_attention_heads");
  a.kv_heads = fields.Size("num_key_value_heads", a.heads);
  a.head_dim = fields.Size("head_dim", 128);
  a.query_pre_scale = a.head_dim;
  const size_t count = LayerCount(fields);
  for (const bool rotates : ReadLayout(fields, "rope_layout", count, true)) {
    a.layers.push_back(rotates ? LayerKind::kFullAttention : LayerKind::kNopeAttention);
  }
  const std::vector<bool> slides = ReadLayout(fields, "sliding_window_layout", count, false);
  a.window = fields.Size("sliding_window_size", 4096);
  ReadRopes(fields, /*may_be_partial=*/false, a);
  a.norm_epsilon = static_cast<float>(fields.Positive("rms_norm_eps", 1e-6));
  a.tied_embeddings = fields.Flag("tie_word_embeddings", true);
  a.feed_forward = SmallThinkerExperts(
      ReadExperts(fields, "moe_num_primary_experts", "moe_num_active_primary_experts", "moe_ffn_hidden_size"),
      fields.Flag("moe_primary_router_apply_softmax", false), a.model_dim);
  return SmallThinkerModel(a, slides);
}

// Of models with a window each fourth layer, from the first on, has neither that nor RoPE. Other layouts are not told.
inline std::vector<DescribedModel> ReadSmallThinkerGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  constexpr int kSoftmax = 1, kSigmoid = 2;
  constexpr size_t kNth = 4;
  FamilyRules rules = {.implied = ShortFormOf<SmallThinkerFamily>(), .experts = ExpertRule::kSomeLayers};
  ShortForm a = ReadGgufModel(fields, rules, facts);
  a.window = ReadGgufWindow(fields);
  std::vector<bool> slides;
  for (size_t i = 0; i < a.layers.size(); ++i) {
    slides.push_back(a.window > 0 && i % kNth != 0);
    if (a.window > 0 && !slides[i]) a.layers[i] = LayerKind::kNopeAttention;
  }
  const int gating = fields.Integer("expert_gating_func", kSoftmax, kSigmoid);
  ChangeExperts(
      a, [&](MixtureOfExperts& experts) { experts = SmallThinkerExperts(experts, gating == kSoftmax, a.model_dim); });
  a.feed_forward_dim = 0;
  return {SmallThinkerModel(a, slides)};
}

inline constexpr Renaming kSmallThinkerNames[] = {{"mlp.gate.", "block_sparse_moe.primary_router."},
                                                  {"mlp.experts.gate_proj.", "block_sparse_moe.experts.#.gate."},
                                                  {"mlp.experts.up_proj.", "block_sparse_moe.experts.#.up."},
                                                  {"mlp.experts.down_proj.", "block_sparse_moe.experts.#.down."}};

inline constexpr PassedFields kSmallThinkerPassedJson[] = {
    {"the weights of the chosen experts add up to 1", "", "norm_topk_prob", true},
    {"other names of sliding_window_size and sliding_window_layout, which are read", "",
     "sliding_window sliding_window_pattern"}};

inline constexpr ModelType kSmallThinkerTypes[] = {{.name = SmallThinkerFamily::kModelType, .read = ReadSmallThinker}};

inline constexpr GgufArchitecture kSmallThinkerArchitectures[] = {
    {.name = "smallthinker", .read = ReadSmallThinkerGguf, .is_written = true, .tell = TellGating}};

struct SmallThinkerRow {
  static constexpr FamilyRow kRow = {.name = "SmallThinker",
                                     .special = "experts chosen before attention, ReLU gates, layers without RoPE",
                                     .original = "the authors' code",
                                     .model_types = kSmallThinkerTypes,
                                     .architectures = kSmallThinkerArchitectures,
                                     .names = kSmallThinkerNames,
                                     .passed_json = kSmallThinkerPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_SMALLTHINKER_DETAIL_FAMILY_H_
