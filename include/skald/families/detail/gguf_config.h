// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/gguf_config.h.

#ifndef SKALD_FAMILIES_DETAIL_GGUF_CONFIG_H_
#define SKALD_FAMILIES_DETAIL_GGUF_CONFIG_H_

#include "skald/families/gguf_config.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/text/message.h"
#include "skald/families/detail/parse_gguf.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/weights/files/gguf_json.h"
#include "skald/weights/files/gguf_metadata.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/packing/pack.h"

namespace skald {

namespace internal {

// Twice as many elements of a head are turned. Beyond every model there is.
inline constexpr uint64_t kMaxRopeDivisors = 1 << 16;

// Adds the number of the layer that a tensor is of, as in "blk.7.ffn_gate_inp.weight".
inline void AddLayerOf(std::string_view tensor, std::set<uint32_t>& layers) {
  constexpr std::string_view kBlocks = "blk.";
  if (!tensor.starts_with(kBlocks)) return;
  uint32_t layer = 0;
  const char* const begin = tensor.data() + kBlocks.size();
  if (std::from_chars(begin, tensor.data() + tensor.size(), layer).ec == std::errc()) layers.insert(layer);
}

inline Result<GgufTensorFacts> FactsOfTensors(const GgufFile& file) {
  GgufTensorFacts facts;
  for (size_t i = 0; i < file.size(); ++i) {
    const TensorView tensor = file[i];
    if (tensor.name == "output.weight") facts.has_head = true;
    if (tensor.name.ends_with(".ssm_norm.weight")) facts.has_ssm_norm = true;
    if (tensor.name.ends_with(".ffn_gate_inp.weight")) AddLayerOf(tensor.name, facts.expert_layers);
    if (tensor.name.ends_with(".attn_v.weight")) ++facts.value_projections;
    if (tensor.name.ends_with(".attn_norm_2.weight")) facts.has_second_attention_norm = true;
    if (tensor.name.ends_with(".ffn_gate.weight")) facts.has_feed_forward_gate = true;
    if (tensor.name.ends_with(".ffn_norm.weight")) facts.has_feed_forward_norm = true;
    if (tensor.name.ends_with(".attn_q.bias") || tensor.name.ends_with(".attn_qkv.bias")) facts.has_query_bias = true;
    if (tensor.name.ends_with(".attn_output.bias")) facts.has_output_bias = true;
    if (tensor.name.ends_with(".ffn_down.bias")) facts.has_feed_forward_bias = true;
    if (tensor.name.ends_with(".attn_q_norm.weight")) facts.has_query_norm = true;
    const std::pair<std::string_view, int*> tables[] = {{"token_embd.weight", &facts.vocab_size},
                                                        {"position_embd.weight", &facts.positions},
                                                        {"token_types.weight", &facts.token_types},
                                                        {"blk.0.laurel_l.weight", &facts.laurel_rank}};
    for (const auto& [name, rows] : tables) {
      const bool fits = tensor.name == name && tensor.shape[0] <= std::numeric_limits<int>::max();
      const uint64_t most = tensor.shape.size() < 2 ? 1 : std::numeric_limits<uint64_t>::max();
      if (fits) *rows = static_cast<int>(std::min<uint64_t>(most, tensor.shape[0]));
    }
    std::vector<float>* const divisors = tensor.name == kRopeDivisors        ? &facts.rope_divisors
                                         : tensor.name == kLongRopeDivisors  ? &facts.long_rope_divisors
                                         : tensor.name == kShortRopeDivisors ? &facts.short_rope_divisors
                                                                             : nullptr;
    if (divisors == nullptr) continue;
    const std::string name(tensor.name);
    if (tensor.dtype != DType::kF32) return Fail(ErrorCode::kUnsupported, name + ": expected type F32");
    if (tensor.shape.size() != 1 || tensor.shape[0] > kMaxRopeDivisors) {
      return Fail(ErrorCode::kUnsupported, Concat({name, ": expected at most ", std::to_string(kMaxRopeDivisors),
                                                   " numbers, found shape ", ShapeText(tensor.shape)}));
    }
    AppendFloats(tensor.bytes.data(), DType::kF32, tensor.bytes.size() / sizeof(float), *divisors);
  }
  return facts;
}

// Adds the values of metadata to an object, with the arrays that have an element for each layer at most: files say by
// them in what layers differ.
inline void AddWithShortArrays(const GgufMetadata& metadata, nlohmann::json& values) {
  AddJsonOf(metadata, values);
  for (const auto& [name, array] : metadata.arrays) {
    if (array.size() > kMaxLayers) continue;
    nlohmann::json& elements = values[name];
    array.ForEach([&](const GgufValue& element) {
      if (const auto* single = std::get_if<GgufScalar>(&element)) elements.push_back(JsonOf(*single));
      return true;
    });
  }
}

}  // namespace internal

SKALD_INLINE Result<std::vector<DescribedModel>> ModelsOf(const GgufFile& file) {
  return NoThrow("a GGUF file", [&]() -> Result<std::vector<DescribedModel>> {
    SKALD_ASSIGN(const auto facts, internal::FactsOfTensors(file));
    nlohmann::json metadata = nlohmann::json::object();
    const internal::JsonGuard guard(metadata);
    internal::AddWithShortArrays(file.metadata(), metadata);
    Result<std::vector<DescribedModel>> models = ParseConfigGguf(metadata, facts);
    if (!models || facts.vocab_size > 0) return models;
    return Fail(ErrorCode::kNotFound, "token_embd.weight: expected a tensor of one row for each token, found none");
  });
}

SKALD_INLINE Result<std::vector<DescribedModel>> ModelsOf(const GgufFile& file, const GgufAlias& alias) {
  return NoThrow("a GGUF file", [&]() -> Result<std::vector<DescribedModel>> {
    SKALD_ASSIGN(auto facts, internal::FactsOfTensors(file));
    if (facts.vocab_size == 0) facts.vocab_size = alias.vocab_size;
    facts.has_head = true;
    nlohmann::json metadata = nlohmann::json::object(), meant = nlohmann::json::object();
    const internal::JsonGuard guard(metadata), of_meant(meant);
    internal::AddWithShortArrays(file.metadata(), metadata);
    const std::string prefix = Concat({alias.name, "."});
    for (const auto& [name, value] : metadata.items()) {
      if (!name.starts_with(prefix)) {
        meant[name] = value;
      } else if (const auto rest = name.substr(prefix.size());
                 std::ranges::find(alias.own_names, rest) == alias.own_names.end()) {
        meant[Concat({alias.meant, ".", rest})] = value;
      }
    }
    meant["general.architecture"] = alias.meant;
    return ParseConfigGguf(meant, facts);
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_GGUF_CONFIG_H_
