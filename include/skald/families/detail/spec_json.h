// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/spec_json.h.

#ifndef SKALD_FAMILIES_DETAIL_SPEC_JSON_H_
#define SKALD_FAMILIES_DETAIL_SPEC_JSON_H_

#include "skald/families/spec_json.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/threads/float_environment.h"
#include "skald/families/readers/detail/spec_json.h"
#include "skald/layers/standard_layers.h"

namespace skald {

SKALD_INLINE Result<std::string> SpecToJson(const ModelSpec& spec) {
  return NoThrow("the description of a model", [&]() -> Result<std::string> {
    nlohmann::json json = {{"blocks", nlohmann::json::array()}};
    const auto write = [&json](const char* name, const auto& member) { json[name] = internal::ToJson(member); };
    internal::VisitModel(spec, write, write);
    for (const Block& block : spec.blocks) {
      nlohmann::json one = {{"layers", nlohmann::json::array()}};
      const auto add = [&one](const char* name, const auto& member) { one[name] = internal::ToJson(member); };
      internal::VisitBlock(block, add, add);
      for (const LayerSpec& layer : block.layers)
        one["layers"].push_back(internal::LayerJson<StandardLayers>::Write(layer));
      json["blocks"].push_back(std::move(one));
    }
    return json.dump();
  });
}

SKALD_INLINE Result<ModelSpec> SpecFromJson(std::string_view text) {
  return NoThrow("the description of a model", [&]() -> Result<ModelSpec> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    nlohmann::json json;
    const internal::JsonGuard guard(json);
    if (const std::string complaint = internal::ParsePythonJson(text, json); !complaint.empty()) {
      return Fail(ErrorCode::kDataLoss, "the description of a model " + complaint);
    }
    internal::SpecReader reader;
    ModelSpec spec;
    const auto readers_of = [&reader](const nlohmann::json& object) {
      return std::pair([&](const char* name, auto& member) { reader.Read(object, name, member); },
                       [&](const char* name, auto& member) { reader.ReadIfThere(object, name, member); });
    };
    const auto [read, read_if_there] = readers_of(json);
    internal::VisitModel(spec, read, read_if_there);
    if (const nlohmann::json* const blocks = internal::FindArray(json, "blocks", reader)) {
      for (const nlohmann::json& one : *blocks) {
        Block& block = spec.blocks.emplace_back();
        const auto [read_one, read_one_if_there] = readers_of(one);
        internal::VisitBlock(block, read_one, read_one_if_there);
        const nlohmann::json* const layers = internal::FindArray(one, "layers", reader);
        if (layers == nullptr) continue;
        for (const nlohmann::json& layer : *layers)
          internal::LayerJson<StandardLayers>::Read(layer, reader, block.layers);
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

#endif  // SKALD_FAMILIES_DETAIL_SPEC_JSON_H_
