// SPDX-License-Identifier: Apache-2.0
//
// Reads what metadata say of a mixture of experts.

#ifndef SKALD_FAMILIES_READERS_DETAIL_EXPERTS_H_
#define SKALD_FAMILIES_READERS_DETAIL_EXPERTS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/mixture_of_experts.h"

namespace skald::internal {

// How config.json describes the experts of a family.
enum class ExpertRule {
  kNone,
  kEveryLayer,  // "intermediate_size" is theirs
  kSomeLayers,  // all but "mlp_only_layers", and of these each "decoder_sparse_step"th; "moe_intermediate_size"
};

inline constexpr int kMaxExperts = 1 << 16;  // beyond every model there is

// Reads how many experts there are, how many of them compute a row, and their width; `experts` hold what their family
// takes for granted.
inline MixtureOfExperts ReadExperts(const JsonFields& fields, const char* count, const char* chosen, const char* width,
                                    MixtureOfExperts experts = {}) {
  experts.experts = fields.Integer(count, 1, kMaxExperts);
  experts.chosen = fields.Integer(chosen, 1, experts.experts);
  experts.width = fields.Size(width);
  return experts;
}

// The same from the metadata of a GGUF file.
inline MixtureOfExperts ReadGgufExpertSizes(const JsonFields& fields, MixtureOfExperts experts = {}) {
  return ReadExperts(fields, "expert_count", "expert_used_count", "expert_feed_forward_length", experts);
}

// Weights of experts that do not add up to 1 are not divided, so that nothing is added to their sum.
inline void SetNormalized(bool normalized, MixtureOfExperts& experts) {
  experts.normalized = normalized;
  if (!normalized) experts.sum_epsilon = 0.0f;
}

// Returns the numbers in an array of layers.
inline std::set<uint32_t> ReadLayerNumbers(const JsonFields& fields, const char* name) {
  std::set<uint32_t> layers;
  const nlohmann::json* const found = fields.Find(name);
  if (found == nullptr) return layers;
  bool valid = found->is_array();
  for (size_t i = 0; valid && i < found->size(); ++i) {
    const nlohmann::json& number = (*found)[i];
    valid = number.is_number_integer() && number.get<int64_t>() >= 0 && number.get<int64_t>() < kMaxLayers;
    if (valid) layers.insert(number.get<uint32_t>());
  }
  if (!valid) fields.WrongValue(name, *found, "an array of numbers of layers");
  return layers;
}

// Gives a model these experts, whose gates are of the model's activation.
inline void SetExperts(MixtureOfExperts experts, ShortForm& a) {
  experts.activation = a.activation;
  a.feed_forward = experts;
}

// Leaves the layers without experts for which is_dense(layer) holds.
template <class IsDense>
void SetDenseLayers(ShortForm& a, IsDense is_dense) {
  a.dense_layers.clear();
  for (uint32_t layer = 0; layer < a.layers.size(); ++layer) {
    if (is_dense(layer)) a.dense_layers.push_back(layer);
  }
}

// Leaves the first layers without experts, as many as field `name` says. Where that is missing they are `standard`,
// without which it must be there.
inline void ReadFirstDenseLayers(const JsonFields& fields, const char* name, ShortForm& a,
                                 std::optional<int> standard = {}) {
  const int dense = fields.Integer(name, 0, static_cast<int>(a.layers.size()), standard);
  SetDenseLayers(a, [dense](uint32_t layer) { return layer < static_cast<uint32_t>(dense); });
}

// Adds the experts to a model whose layers and other sizes are read.
inline void ReadJsonExperts(const JsonFields& fields, ExpertRule rule, ShortForm& a) {
  if (rule == ExpertRule::kNone) return;
  // transformers 5 renamed it.
  const char* const count = fields.Find("num_experts") != nullptr ? "num_experts" : "num_local_experts";
  const bool some = rule == ExpertRule::kSomeLayers;
  MixtureOfExperts experts =
      ReadExperts(fields, count, "num_experts_per_tok", some ? "moe_intermediate_size" : "intermediate_size");
  if (some) {
    experts.normalized = fields.Flag("norm_topk_prob", false);
    const auto dense = ReadLayerNumbers(fields, "mlp_only_layers");
    const auto step = static_cast<uint32_t>(fields.Size("decoder_sparse_step", 1));
    SetDenseLayers(a, [&](uint32_t layer) { return dense.contains(layer) || (layer + 1) % step != 0; });
  }
  SetExperts(experts, a);
}

// Changes the experts of a model that has some.
template <class Change>
void ChangeExperts(ShortForm& a, Change change) {
  const auto* const found = a.feed_forward ? a.feed_forward->As<MixtureOfExperts>() : nullptr;
  if (found == nullptr) return;
  MixtureOfExperts experts = *found;
  change(experts);
  a.feed_forward = experts;
}

// The same from the metadata of a GGUF file, which has experts where it counts them. They are those of every layer.
inline void ReadGgufExperts(const JsonFields& fields, ExpertRule rule, ShortForm& a) {
  if (rule == ExpertRule::kNone) return fields.Expect("expert_count", 0);
  const bool some = rule == ExpertRule::kSomeLayers;
  MixtureOfExperts experts = ReadExperts(fields, "expert_count", "expert_used_count",
                                         some ? "expert_feed_forward_length" : "feed_forward_length");
  SetExperts(experts, a);
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_EXPERTS_H_
