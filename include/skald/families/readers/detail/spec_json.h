// SPDX-License-Identifier: Apache-2.0
//
// The parts of a ModelSpec as JSON, both ways, by the names of types and members.

#ifndef SKALD_FAMILIES_READERS_DETAIL_SPEC_JSON_H_
#define SKALD_FAMILIES_READERS_DETAIL_SPEC_JSON_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/text/fixed_text.h"
#include "skald/families/config/reflection.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/layers/standard_layers.h"

namespace skald::internal {

template <class T>
nlohmann::json ToJson(const std::optional<T>& value);
nlohmann::json ToJson(const NormSpec& norm);

template <class T>
nlohmann::json ToJson(const T& value) {
  if constexpr (HasFields<T>) {
    nlohmann::json object = nlohmann::json::object();
    T::VisitFields(value,
                   [&](std::string_view name, const auto& member) { object[std::string(name)] = ToJson(member); });
    return object;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(NameOf(value));
  } else if constexpr (std::is_same_v<T, FixedText>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isinf(value) ? nlohmann::json("Infinity") : nlohmann::json(static_cast<double>(value));
  } else {
    return value;
  }
}
template <class T>
nlohmann::json ToJson(const std::optional<T>& value) {
  return value ? ToJson(*value) : nlohmann::json();
}

/// Reads values; the first that cannot be read leaves its name.
class SpecReader {
 public:
  const std::string& complaint() const { return complaint_; }

  template <class T>
  void Read(const nlohmann::json& object, std::string_view name, T& value) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (found == object.end()) return Complain(name);
    ReadValue(*found, name, value);
  }

  /// Of what descriptions lack that were written before there was such a fact.
  template <class T>
  void ReadIfThere(const nlohmann::json& object, std::string_view name, T& value) {
    if (object.is_object() && object.contains(name)) Read(object, name, value);
  }

  void Complain(std::string_view name);

  template <class T>
  void ReadValue(const nlohmann::json& json, std::string_view name, T& value) {
    if constexpr (HasFields<T>) {
      // Members that are told only where they are set may be missing.
      std::set<std::string_view> required;
      const T standard{};
      T::VisitFields(standard, [&](std::string_view member, const auto&) { required.insert(member); });
      T::VisitFields(value, [&](std::string_view member, auto& target) {
        required.contains(member) ? Read(json, member, target) : ReadIfThere(json, member, target);
      });
    } else if constexpr (std::is_enum_v<T>) {
      bool known = false;
      ForEachEnumerator<T>([&](T one, std::string_view) {
        if (!json.is_string() || json.template get_ref<const std::string&>() != NameOf(one)) return;
        value = one;
        known = true;
      });
      if (!known) Complain(name);
    } else if constexpr (std::is_same_v<T, bool>) {
      json.is_boolean() ? void(value = json.template get<bool>()) : Complain(name);
    } else if constexpr (std::is_same_v<T, FixedText>) {
      json.is_string() ? void(value = std::string_view(json.template get_ref<const std::string&>())) : Complain(name);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (json.is_string() && json.template get_ref<const std::string&>() == "Infinity")
        return void(value = std::numeric_limits<T>::infinity());
      json.is_number() ? void(value = static_cast<T>(json.template get<double>())) : Complain(name);
    } else {
      const bool fits = json.is_number_integer() && std::in_range<T>(json.template get<int64_t>());
      fits ? void(value = static_cast<T>(json.template get<int64_t>())) : Complain(name);
    }
  }
  template <class T>
  void ReadValue(const nlohmann::json& json, std::string_view name, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) ReadValue(json, name, value.emplace());
  }
  void ReadValue(const nlohmann::json& json, std::string_view name, std::vector<float>& value);
  void ReadValue(const nlohmann::json& json, std::string_view name, NormSpec& value);
  void ReadValue(const nlohmann::json& json, std::string_view name, std::optional<NormSpec>& value);

 private:
  // RMSNorm goes without "type", as it does in fingerprints.
  template <Norm... N>
  void ReadNorm(NormTypes<N...>, const nlohmann::json& json, std::string_view name, NormSpec& norm);

  std::string complaint_;
};

inline void SpecReader::Complain(std::string_view name) {
  if (complaint_.empty()) complaint_ = name;
}

inline void SpecReader::ReadValue(const nlohmann::json& json, std::string_view name, std::vector<float>& value) {
  value.clear();
  if (!json.is_array()) return Complain(name);
  for (const nlohmann::json& one : json) ReadValue(one, name, value.emplace_back());
}

inline void SpecReader::ReadValue(const nlohmann::json& json, std::string_view name, NormSpec& value) {
  ReadNorm(StandardNorms(), json, name, value);
}

inline void SpecReader::ReadValue(const nlohmann::json& json, std::string_view name, std::optional<NormSpec>& value) {
  value.reset();
  if (!json.is_null()) ReadValue(json, name, value.emplace(RmsNorm()));
}

template <Norm... N>
void SpecReader::ReadNorm(NormTypes<N...>, const nlohmann::json& json, std::string_view name, NormSpec& norm) {
  const auto type = json.is_object() ? json.find("type") : json.end();
  const bool is_named = json.is_object() && type != json.end();
  bool found = false;
  const auto read = [&]<class One>() {
    if (is_named ? *type != nlohmann::json(One::kName) : !std::is_same_v<One, RmsNorm>) return;
    One one;
    ReadValue(json, name, one);
    norm = one;
    found = true;
  };
  (read.template operator()<N>(), ...);
  if (!found) Complain(name);
}

template <Norm... N>
nlohmann::json NormToJson(NormTypes<N...>, const NormSpec& norm) {
  nlohmann::json json;
  ((norm.As<N>() != nullptr ? void(json = ToJson(*norm.As<N>())) : void()), ...);
  if (norm.As<RmsNorm>() == nullptr) json["type"] = std::string(norm.name());
  return json;
}
inline nlohmann::json ToJson(const NormSpec& norm) { return NormToJson(StandardNorms(), norm); }

template <class List>
struct LayerJson;

template <Layer... L>
struct LayerJson<LayerTypes<L...>> {
  static nlohmann::json Write(const LayerSpec& layer) {
    nlohmann::json json;
    ((layer.As<L>() != nullptr ? void(json = ToJson(*layer.As<L>())) : void()), ...);
    json["type"] = std::string(layer.name());
    return json;
  }

  static void Read(const nlohmann::json& json, SpecReader& reader, std::vector<LayerSpec>& layers) {
    const size_t before = layers.size();
    const auto type = json.is_object() ? json.find("type") : json.end();
    const auto read = [&]<class One>() {
      if (type == json.end() || !type->is_string()) return;
      if (type->template get_ref<const std::string&>() != One::kName) return;
      One layer;
      reader.ReadValue(json, One::kName, layer);
      layers.push_back(layer);
    };
    (read.template operator()<L>(), ...);
    if (layers.size() == before) reader.Complain("type");
  }
};

/// Calls always(name, member) for the members of a spec or a block that every description has, but blocks and layers,
/// and later(name, member) for those that older descriptions lack.
template <class Spec, class Always, class Later>
void VisitModel(Spec& spec, Always always, Later later) {
  always("model_dim", spec.model_dim);
  always("vocab_size", spec.vocab_size);
  always("tied_embeddings", spec.tied_embeddings);
  always("embedding_scale", spec.embedding_scale);
  always("final_norm", spec.final_norm);
  always("final_softcap", spec.final_softcap);
  later("embedding_multiplier", spec.embedding_multiplier);
  later("logits_scaling", spec.logits_scaling);
  later("per_layer_dim", spec.per_layer_dim);
  later("per_layer_vocab", spec.per_layer_vocab);
  later("embedding_norm", spec.embedding_norm);
  later("head_bias", spec.head_bias);
  later("normed_head", spec.normed_head);
  later("positions", spec.positions);
  later("first_position", spec.first_position);
  later("token_types", spec.token_types);
  later("bias_heads", spec.distance_bias.heads);
  later("bias_buckets", spec.distance_bias.buckets);
  later("bias_max_distance", spec.distance_bias.max_distance);
  later("longest_text", spec.longest_text);
}
template <class OneBlock, class Always, class Later>
void VisitBlock(OneBlock& block, Always always, Later later) {
  always("number", block.number);
  always("norm", block.norm);
  always("norm_name", block.norm_name);
  always("post_norm", block.post_norm);
  always("post_norm_name", block.post_norm_name);
  later("residual_multiplier", block.residual_multiplier);
  later("learned_scale", block.learned_scale);
  later("beside_previous", block.beside_previous);
  later("norms_sum", block.norms_sum);
  later("normed_multiplier", block.normed_multiplier);
  later("stream_norm", block.stream_norm);
  later("stream_norm_name", block.stream_norm_name);
}

/// Returns the array of this name, or null, which is a complaint.
inline const nlohmann::json* FindArray(const nlohmann::json& object, const char* name, SpecReader& reader) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found != object.end() && found->is_array()) return &*found;
  reader.Complain(name);
  return nullptr;
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_SPEC_JSON_H_
