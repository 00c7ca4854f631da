// SPDX-License-Identifier: Apache-2.0
//
// Reads the metadata of a GGUF file, names with values of thirteen types, into a JSON object of the same names. JSON
// holds all of them without loss: it tells integers with and without sign from numbers with a fraction, which here are
// doubles, and its strings are any bytes.

#ifndef SKALD_WEIGHTS_GGUF_METADATA_H_
#define SKALD_WEIGHTS_GGUF_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/message.h"
#include "skald/weights/gguf_cursor.h"

namespace skald::internal {

// The numbers that files use.
enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// Arrays may hold arrays. Deeper than any file goes.
inline constexpr size_t kMaxGgufNesting = 4;

inline nlohmann::json ReadGgufValue(GgufCursor& cursor, GgufValueType type, std::string_view name, size_t nesting);

inline nlohmann::json ReadGgufBool(GgufCursor& cursor, std::string_view name) {
  const auto value = cursor.Number<uint8_t>(name);
  if (value > 1) cursor.Complain(Concat({name, " must be 0 or 1, but is ", std::to_string(value)}));
  return value != 0;
}

inline nlohmann::json ReadGgufArray(GgufCursor& cursor, std::string_view name, size_t nesting) {
  if (nesting == kMaxGgufNesting) cursor.Complain(Concat({name, " is an array in too many arrays"}));
  const auto type = static_cast<GgufValueType>(cursor.Number<uint32_t>(name));
  const uint64_t count = cursor.Count(Concat({"the length of ", name}), 1);
  nlohmann::json array = nlohmann::json::array();
  for (uint64_t i = 0; i < count && cursor.ok(); ++i) array.push_back(ReadGgufValue(cursor, type, name, nesting + 1));
  return array;
}

inline nlohmann::json ReadGgufValue(GgufCursor& cursor, GgufValueType type, std::string_view name, size_t nesting) {
  switch (type) {
    case GgufValueType::kUint8:
      return cursor.Number<uint8_t>(name);
    case GgufValueType::kInt8:
      return cursor.Number<int8_t>(name);
    case GgufValueType::kUint16:
      return cursor.Number<uint16_t>(name);
    case GgufValueType::kInt16:
      return cursor.Number<int16_t>(name);
    case GgufValueType::kUint32:
      return cursor.Number<uint32_t>(name);
    case GgufValueType::kInt32:
      return cursor.Number<int32_t>(name);
    case GgufValueType::kFloat32:
      return cursor.Number<float>(name);
    case GgufValueType::kBool:
      return ReadGgufBool(cursor, name);
    case GgufValueType::kString:
      return std::string(cursor.String(name));
    case GgufValueType::kArray:
      return ReadGgufArray(cursor, name, nesting);
    case GgufValueType::kUint64:
      return cursor.Number<uint64_t>(name);
    case GgufValueType::kInt64:
      return cursor.Number<int64_t>(name);
    case GgufValueType::kFloat64:
      return cursor.Number<double>(name);
  }
  cursor.Complain(Concat({name, " is of type ", std::to_string(static_cast<uint32_t>(type)), ", expected 0 to 12"}));
  return nullptr;
}

// Reads `count` names and values. What is wrong is the cursor's complaint.
inline nlohmann::json ReadGgufMetadata(GgufCursor& cursor, uint64_t count) {
  nlohmann::json metadata = nlohmann::json::object();
  for (uint64_t i = 0; i < count && cursor.ok(); ++i) {
    std::string name(cursor.String(Concat({"the name of metadata value ", std::to_string(i)})));
    const std::string shown = Concat({"metadata ", QuotedName(name)});
    const auto type = static_cast<GgufValueType>(cursor.Number<uint32_t>(shown));
    nlohmann::json value = ReadGgufValue(cursor, type, shown, 0);
    if (!cursor.ok()) break;
    if (!metadata.emplace(std::move(name), std::move(value)).second) {
      cursor.Complain(Concat({shown, " is there twice"}));
    }
  }
  return metadata;
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_GGUF_METADATA_H_
