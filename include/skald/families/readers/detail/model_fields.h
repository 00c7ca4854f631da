// SPDX-License-Identifier: Apache-2.0
//
// Fields that files of more than one kind of model have, and what else their readers are told.

#ifndef SKALD_FAMILIES_READERS_DETAIL_MODEL_FIELDS_H_
#define SKALD_FAMILIES_READERS_DETAIL_MODEL_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/mathematics/portable_log.h"

namespace skald {

/// Facts that the tensors of a GGUF file show, and its metadata do not.
struct GgufTensorFacts {
  int vocab_size = 0;                                              ///< rows of the embedding
  bool has_head = false;                                           ///< an output head of its own
  int positions = 0, token_types = 0;                              ///< rows of embeddings of them; 0: none
  std::vector<float> rope_divisors{};                              ///< of each RoPE frequency; empty: none
  bool has_ssm_norm = false;                                       ///< a norm of what Mamba-2 gives
  int value_projections = 0;                                       ///< layers that have one
  bool has_query_bias = false, has_query_norm = false;             ///< of queries within attention
  bool has_output_bias = false, has_feed_forward_bias = false;     ///< of the last projections of both layers
  bool has_second_attention_norm = false;                          ///< a further one in front of attention
  bool has_feed_forward_norm = false;                              ///< one before feed-forward layers
  bool has_feed_forward_gate = false;                              ///< a tensor of gates in feed-forward layers
  std::vector<float> long_rope_divisors{}, short_rope_divisors{};  ///< two such lists, to be chosen from
  int laurel_rank = 0;                                             ///< of learned augmented residual layers
  std::set<uint32_t> expert_layers{};                              ///< those with a router of experts
};

namespace internal {

/// The names of the tensors above in GGUF files. Readers of a RoPE request them like fields, so that tensors that no
/// reader takes are refused.
inline constexpr const char *kRopeDivisors = "rope_freqs.weight", *kLongRopeDivisors = "rope_factors_long.weight",
                            *kShortRopeDivisors = "rope_factors_short.weight";

inline constexpr int kMaxLayers = 1 << 12;  ///< beyond every model there is

/// How many layers the model has.
inline size_t LayerCount(const JsonFields& fields) {
  return static_cast<size_t>(fields.Integer("num_hidden_layers", 1, kMaxLayers));
}

/// YaRN's factor of cosines and sines (arXiv:2309.00071, section 3.4).
inline double YarnAttentionFactor(double factor, double multiplier = 1.0) {
  return factor > 1.0 ? 0.1 * multiplier * PortableLog(factor) + 1.0 : 1.0;
}

/// A soft cap that is absent is the family's; one that is null is off.
inline float ReadSoftcap(const JsonFields& fields, const char* name, float standard) {
  return static_cast<float>(fields.Positive(name, fields.Contains(name) ? 0.0f : standard));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_READERS_DETAIL_MODEL_FIELDS_H_
