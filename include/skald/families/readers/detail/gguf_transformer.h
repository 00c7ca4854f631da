// SPDX-License-Identifier: Apache-2.0
//
// Reads what the metadata of a GGUF file say of the families of the short form all of whose layers are attention. Names
// and defaults are those of llama.cpp (https://github.com/ggml-org/llama.cpp: llama-arch.cpp, llama-model.cpp,
// convert_hf_to_gguf.py).

#ifndef SKALD_FAMILIES_READERS_DETAIL_GGUF_TRANSFORMER_H_
#define SKALD_FAMILIES_READERS_DETAIL_GGUF_TRANSFORMER_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns a window that may be absent or 0: none.
inline int ReadGgufWindow(const JsonFields& fields) {
  return fields.Integer("attention.sliding_window", 0, 1 << 30, 0);
}

// Returns the model's layers. In families with a window all are sliding where the file gives one, or all but each nth;
// in those with layers without RoPE each nth is one, which no value tells.
inline std::vector<LayerKind> GgufLayers(const JsonFields& fields, const FamilyRules& family) {
  std::vector<LayerKind> layers(static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers)),
                                LayerKind::kFullAttention);
  for (size_t i = 0; family.nth_without_rope > 0 && i < layers.size(); ++i) {
    if ((i + 1) % static_cast<size_t>(family.nth_without_rope) == 0) layers[i] = LayerKind::kNopeAttention;
  }
  if (family.layers == LayerRule::kAllIfGiven && ReadGgufWindow(fields) > 0) {
    std::ranges::fill(layers, LayerKind::kSlidingAttention);
  }
  if (family.layers != LayerRule::kAllButNth) return layers;
  const auto nth = static_cast<size_t>(fields.Size("attention.sliding_window_pattern", family.nth));
  for (size_t i = 0; i < layers.size(); ++i) {
    if ((i + 1) % nth != 0) layers[i] = LayerKind::kSlidingAttention;
  }
  return layers;
}

// Refuses what would change the logits and has no place in a ShortForm.
inline void RefuseUnsupportedGguf(const JsonFields& fields, int head_dim) {
  fields.Expect("attention.value_length", head_dim);
}

// Returns the query_pre_scale of that of the Configs which has the sizes of `a`.
template <class... Configs>
std::optional<double> QueryPreScaleAmong(const ShortForm& a) {
  std::optional<double> found;
  const auto look = [&](const ShortForm& one) {
    const bool same = one.model_type == a.model_type && one.layers.size() == a.layers.size() &&
                      one.model_dim == a.model_dim && one.heads == a.heads && one.head_dim == a.head_dim;
    if (same) found = one.query_pre_scale;
  };
  (look(ShortFormOf<Configs>()), ...);
  return found;
}

// Returns what scores are divided by the root of. Files that have "attention.scale" say what they are multiplied by,
// as float32. Some families have a number of their own for each model, which the converter leaves out. In other
// architectures llama.cpp takes no notice of it.
inline double ReadGgufQueryPreScale(const JsonFields& fields, const FamilyRules& family, const ShortForm& a) {
  constexpr const char* kName = "attention.scale";
  const bool has_own = family.published_pre_scale != nullptr;
  if (fields.Find(kName) != nullptr) {
    const double scale = fields.Positive(kName), divisor = 1.0 / (scale * scale), whole = std::round(divisor);
    const bool is_whole = static_cast<float>(1.0 / std::sqrt(whole)) == static_cast<float>(scale);
    const bool is_usual = is_whole && whole == a.head_dim;
    if (!has_own && !is_usual) fields.Unsupported(kName, scale, "1 divided by the root of attention.key_length");
    return is_whole ? whole : divisor;
  }
  if (!has_own) return a.head_dim;
  const std::optional<double> published = family.published_pre_scale(a);
  if (!published) fields.Missing(kName, ", and no published model of this family has as many layers, heads and sizes");
  return published.value_or(1.0);
}

inline ShortForm ReadGgufModel(const JsonFields& fields, const FamilyRules& family, const GgufTensorFacts& facts) {
  ShortForm a = family.implied;
  a.model_dim = fields.Size("embedding_length");
  a.feed_forward_dim = fields.Size("feed_forward_length");
  a.vocab_size = facts.vocab_size;
  a.heads = fields.Size("attention.head_count");
  a.kv_heads = fields.Size("attention.head_count_kv", a.heads);
  a.head_dim = fields.Size("attention.key_length", std::max(1, a.model_dim / a.heads));
  a.rotary_dim = fields.Size("rope.dimension_count", a.head_dim);
  RefuseUnsupportedGguf(fields, a.head_dim);
  a.layers = GgufLayers(fields, family);
  if (family.layers == LayerRule::kAllButNth) a.window = fields.Size("attention.sliding_window", family.gguf_window);
  if (family.layers == LayerRule::kAllIfGiven) a.window = ReadGgufWindow(fields);
  a.rope = ReadGgufRope(fields, facts, static_cast<size_t>(a.rotary_dim));
  if (a.sliding_rope) a.sliding_rope->base = fields.Positive("rope.freq_base_swa", a.sliding_rope->base);
  a.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  a.query_pre_scale = ReadGgufQueryPreScale(fields, family, a);
  if (family.reads_caps) {
    a.attention_softcap = ReadSoftcap(fields, "attn_logit_softcapping", a.attention_softcap);
    a.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", a.final_softcap);
  }
  a.tied_embeddings = !facts.has_head;
  ReadGgufExperts(fields, family.experts, a);
  return a;
}

// Files of all architectures may count experts.
inline bool GgufHasExperts(const JsonFields& fields) { return fields.Integer("expert_count", 0, kMaxExperts, 0) > 0; }

// The reader of a family with these rules.
template <FamilyRules (*kRules)()>
std::vector<DescribedModel> ReadGgufWith(const JsonFields& fields, const GgufTensorFacts& facts) {
  (void)GgufHasExperts(fields);
  const ShortForm read = ReadGgufModel(fields, kRules(), facts);
  return {{read.model_type, Expand(read)}};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_GGUF_TRANSFORMER_H_
