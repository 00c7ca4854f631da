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

// Returns the blocks of a model. Further ones predict further tokens; their tensors are passed over.
inline int GgufLayerCount(const JsonFields& fields) {
  const int blocks = fields.Integer("block_count", 1, kMaxLayers);
  return blocks - fields.Integer("nextn_predict_layers", 0, blocks - 1, 0);
}

// Makes layers sliding where an array says so of each block, or else all but each nth.
inline void ReadGgufPattern(const JsonFields& fields, int nth, std::vector<LayerKind>& layers) {
  constexpr const char* kName = "attention.sliding_window_pattern";
  const nlohmann::json* const pattern = fields.Find(kName);
  const bool is_array = pattern != nullptr && pattern->is_array();
  const auto step = is_array ? size_t{1} : static_cast<size_t>(fields.Size(kName, nth));
  for (size_t i = 0; i < layers.size(); ++i) {
    bool slides = (i + 1) % step != 0;
    if (is_array) {
      if (i >= pattern->size() || !(*pattern)[i].is_boolean()) {
        return fields.WrongValue(kName, *pattern, "an array of block_count truths");
      }
      slides = (*pattern)[i].get<bool>();
    }
    if (slides) layers[i] = LayerKind::kSlidingAttention;
  }
}

// Returns the model's layers. In families with a window all are sliding where the file gives one, or all but each nth;
// in those with layers without RoPE each nth is one, which no value tells.
inline std::vector<LayerKind> GgufLayers(const JsonFields& fields, const FamilyRules& family) {
  std::vector<LayerKind> layers(static_cast<size_t>(GgufLayerCount(fields)), LayerKind::kFullAttention);
  for (size_t i = 0; family.nth_without_rope > 0 && i < layers.size(); ++i) {
    if ((i + 1) % static_cast<size_t>(family.nth_without_rope) == 0) layers[i] = LayerKind::kNopeAttention;
  }
  if (family.layers == LayerRule::kAllIfGiven && ReadGgufWindow(fields) > 0) {
    std::ranges::fill(layers, LayerKind::kSlidingAttention);
  }
  if (family.layers == LayerRule::kAllButNth) ReadGgufPattern(fields, family.nth, layers);
  return layers;
}

// Refuses what would change the logits and has no place in a ShortForm.
inline void RefuseUnsupportedGguf(const JsonFields& fields, int head_dim) {
  fields.Expect("attention.value_length", head_dim);
}

// Returns what scores are divided by the root of. Files that have "attention.scale" say what they are multiplied by,
// as float32. Others leave it to llama.cpp's rule: it is the size of a head, but in the largest model of some families,
// which is known by its layers, the width of the stream divided by the heads.
inline double ReadGgufQueryPreScale(const JsonFields& fields, const FamilyRules& family, const ShortForm& a) {
  constexpr const char* kName = "attention.scale";
  const bool has_own = family.largest_layers > 0;
  if (fields.Find(kName) == nullptr) {
    const bool is_largest = a.layers.size() == static_cast<size_t>(family.largest_layers);
    return is_largest ? a.model_dim / a.heads : a.head_dim;
  }
  const double scale = fields.Positive(kName), divisor = 1.0 / (scale * scale), whole = std::round(divisor);
  const bool is_whole = static_cast<float>(1.0 / std::sqrt(whole)) == static_cast<float>(scale);
  const bool is_usual = is_whole && whole == a.head_dim;
  // In other architectures llama.cpp takes no notice of it.
  if (!has_own && !is_usual) fields.Unsupported(kName, scale, "1 divided by the root of attention.key_length");
  return is_whole ? whole : divisor;
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
  const char* const epsilon =
      a.norm && !family.gguf_rms_epsilon ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  SetNormEpsilon(static_cast<float>(fields.Positive(epsilon)), a);
  a.query_pre_scale = ReadGgufQueryPreScale(fields, family, a);
  if (family.reads_caps) {
    a.attention_softcap = ReadSoftcap(fields, "attn_logit_softcapping", a.attention_softcap);
    a.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", a.final_softcap);
  }
  a.tied_embeddings = !facts.has_head;
  ReadGgufExperts(fields, family.experts, a);
  TakeGates(family, a);
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
