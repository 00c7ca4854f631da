// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/readers/spec_json.h.

#ifndef SKALD_FAMILIES_READERS_DETAIL_SPEC_JSON_H_
#define SKALD_FAMILIES_READERS_DETAIL_SPEC_JSON_H_

#include "skald/families/readers/spec_json.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE void SpecReader::Complain(std::string_view name) {
  if (complaint_.empty()) complaint_ = name;
}

SKALD_INLINE void SpecReader::ReadValue(const nlohmann::json& json, std::string_view name, std::vector<float>& value) {
  value.clear();
  if (!json.is_array()) return Complain(name);
  for (const nlohmann::json& one : json) ReadValue(one, name, value.emplace_back());
}

SKALD_INLINE void SpecReader::ReadValue(const nlohmann::json& json, std::string_view name, NormSpec& value) {
  ReadNorm(StandardNorms(), json, name, value);
}

SKALD_INLINE void SpecReader::ReadValue(const nlohmann::json& json, std::string_view name,
                                        std::optional<NormSpec>& value) {
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

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_READERS_DETAIL_SPEC_JSON_H_
