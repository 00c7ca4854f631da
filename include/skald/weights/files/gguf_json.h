// SPDX-License-Identifier: Apache-2.0
//
// Metadata of GGUF files as JSON, for code that uses nlohmann-json. JSON represents them without loss: it distinguishes
// signed and unsigned integers and doubles, and its strings can hold any bytes.

#ifndef SKALD_WEIGHTS_FILES_GGUF_JSON_H_
#define SKALD_WEIGHTS_FILES_GGUF_JSON_H_

#include <nlohmann/json.hpp>

#include "skald/weights/files/gguf_metadata.h"

namespace skald {

/// Returns a value as JSON.
nlohmann::json JsonOf(const GgufScalar& value);

/// Returns an object of all names. Arrays are empty in it.
nlohmann::json JsonOf(const GgufMetadata& metadata);

namespace internal {

/// Adds all names to an object, which the caller guards if memory may run out.
void AddJsonOf(const GgufMetadata& metadata, nlohmann::json& object);

}  // namespace internal

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/gguf_json.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_GGUF_JSON_H_
