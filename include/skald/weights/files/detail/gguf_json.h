// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/gguf_json.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_GGUF_JSON_H_
#define SKALD_WEIGHTS_FILES_DETAIL_GGUF_JSON_H_

#include "skald/weights/files/gguf_json.h"

#include <variant>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE nlohmann::json JsonOf(const GgufScalar& value) {
  return std::visit([](const auto& one) { return nlohmann::json(one); }, value);
}

SKALD_INLINE nlohmann::json JsonOf(const GgufMetadata& metadata) {
  nlohmann::json object = nlohmann::json::object();
  internal::AddJsonOf(metadata, object);
  return object;
}

namespace internal {

SKALD_INLINE void AddJsonOf(const GgufMetadata& metadata, nlohmann::json& object) {
  for (const auto& [name, value] : metadata.values) object[name] = JsonOf(value);
  for (const auto& [name, array] : metadata.arrays) object[name] = nlohmann::json::array();
}

}  // namespace internal

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_GGUF_JSON_H_
