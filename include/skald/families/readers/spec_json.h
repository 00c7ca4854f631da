// SPDX-License-Identifier: Apache-2.0
//
// A ModelSpec as JSON, for files that have to say what model they hold. Layers are told by the names of their types and
// members, so a type of a user's own is written and read like ours.

#ifndef SKALD_FAMILIES_READERS_SPEC_JSON_H_
#define SKALD_FAMILIES_READERS_SPEC_JSON_H_

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

#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/result.h"
#include "skald/base/text/fixed_text.h"
#include "skald/base/threads/float_environment.h"
#include "skald/families/config/reflection.h"
#include "skald/families/readers/python_json.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {
namespace internal {

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

}  // namespace internal

/// Returns the spec as a text in JSON. Types lists the types of its layers.
template <class Types = StandardLayers>
Result<std::string> SpecToJson(const ModelSpec& spec) {
  return NoThrow("the description of a model", [&]() -> Result<std::string> {
    nlohmann::json json = {{"model_dim", spec.model_dim},
                           {"vocab_size", spec.vocab_size},
                           {"tied_embeddings", spec.tied_embeddings},
                           {"embedding_scale", internal::ToJson(spec.embedding_scale)},
                           {"final_norm", internal::ToJson(spec.final_norm)},
                           {"final_softcap", spec.final_softcap},
                           {"embedding_multiplier", spec.embedding_multiplier},
                           {"logits_scaling", spec.logits_scaling},
                           {"per_layer_dim", spec.per_layer_dim},
                           {"embedding_norm", internal::ToJson(spec.embedding_norm)},
                           {"blocks", nlohmann::json::array()}};
    for (const Block& block : spec.blocks) {
      nlohmann::json layers = nlohmann::json::array();
      for (const LayerSpec& layer : block.layers) layers.push_back(internal::LayerJson<Types>::Write(layer));
      json["blocks"].push_back({{"number", block.number},
                                {"norm", internal::ToJson(block.norm)},
                                {"norm_name", std::string(std::string_view(block.norm_name))},
                                {"layers", layers},
                                {"post_norm", internal::ToJson(block.post_norm)},
                                {"post_norm_name", std::string(std::string_view(block.post_norm_name))},
                                {"residual_multiplier", block.residual_multiplier},
                                {"learned_scale", block.learned_scale}});
    }
    return json.dump();
  });
}

/// Returns the spec that SpecToJson wrote. Errors: kDataLoss for what is no such text, naming the member that is
/// missing or wrong; kUnsupported for a model that cannot be.
template <class Types = StandardLayers>
Result<ModelSpec> SpecFromJson(std::string_view text) {
  return NoThrow("the description of a model", [&]() -> Result<ModelSpec> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    nlohmann::json json;
    const internal::JsonGuard guard(json);
    if (const std::string complaint = internal::ParsePythonJson(text, json); !complaint.empty()) {
      return Fail(ErrorCode::kDataLoss, "the description of a model " + complaint);
    }
    internal::SpecReader reader;
    ModelSpec spec;
    reader.Read(json, "model_dim", spec.model_dim);
    reader.Read(json, "vocab_size", spec.vocab_size);
    reader.Read(json, "tied_embeddings", spec.tied_embeddings);
    reader.Read(json, "embedding_scale", spec.embedding_scale);
    reader.Read(json, "final_norm", spec.final_norm);
    reader.Read(json, "final_softcap", spec.final_softcap);
    reader.ReadIfThere(json, "embedding_multiplier", spec.embedding_multiplier);
    reader.ReadIfThere(json, "logits_scaling", spec.logits_scaling);
    reader.ReadIfThere(json, "per_layer_dim", spec.per_layer_dim);
    reader.ReadIfThere(json, "embedding_norm", spec.embedding_norm);
    const auto blocks = json.is_object() ? json.find("blocks") : json.end();
    if (blocks == json.end() || !blocks->is_array()) {
      reader.Complain("blocks");
    } else {
      for (const nlohmann::json& one : *blocks) {
        Block& block = spec.blocks.emplace_back();
        reader.Read(one, "number", block.number);
        reader.Read(one, "norm", block.norm);
        reader.Read(one, "norm_name", block.norm_name);
        reader.Read(one, "post_norm", block.post_norm);
        reader.Read(one, "post_norm_name", block.post_norm_name);
        reader.ReadIfThere(one, "residual_multiplier", block.residual_multiplier);
        reader.ReadIfThere(one, "learned_scale", block.learned_scale);
        const auto layers = one.is_object() ? one.find("layers") : one.end();
        if (layers == one.end() || !layers->is_array()) {
          reader.Complain("layers");
          continue;
        }
        for (const nlohmann::json& layer : *layers) internal::LayerJson<Types>::Read(layer, reader, block.layers);
      }
    }
    if (!reader.complaint().empty()) {
      return Fail(ErrorCode::kDataLoss,
                  "the description of a model lacks '" + reader.complaint() + "', or it is wrong");
    }
    if (const char* why = WhyImpossible(spec)) return Fail(ErrorCode::kUnsupported, why);
    return spec;
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/readers/detail/spec_json.h"
#endif

#endif  // SKALD_FAMILIES_READERS_SPEC_JSON_H_
