// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/gguf_metadata.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_GGUF_METADATA_H_
#define SKALD_WEIGHTS_FILES_DETAIL_GGUF_METADATA_H_

#include "skald/weights/files/gguf_metadata.h"

#include <iterator>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

SKALD_INLINE std::optional<double> GgufMetadata::Number(std::string_view name) const {
  if (const auto* const number = Get<uint64_t>(name)) return static_cast<double>(*number);
  if (const auto* const number = Get<int64_t>(name)) return static_cast<double>(*number);
  if (const auto* const number = Get<double>(name)) return *number;
  return std::nullopt;
}

SKALD_INLINE bool GgufMetadata::Contains(std::string_view name) const {
  return values.contains(name) || arrays.contains(name);
}

SKALD_INLINE const GgufArray* GgufMetadata::Array(std::string_view name) const {
  const auto found = arrays.find(name);
  return found == arrays.end() ? nullptr : &found->second;
}

namespace internal {

// Deepest nesting of arrays; no file needs as much.
inline constexpr size_t kMaxGgufNesting = 4;

// Many times as many as in any file. Each takes more memory than bytes of the file.
inline constexpr uint64_t kMaxGgufValues = 1 << 16;

// Returns the bytes that a value of this type takes at least, or 0 with a complaint if there is no such type.
inline size_t LeastGgufBytes(GgufCursor& cursor, GgufValueType type, std::string_view name) {
  constexpr size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  const auto number = static_cast<uint32_t>(type);
  if (number < std::size(kBytes)) return kBytes[number];
  cursor.Complain(Concat({name, " is of type ", std::to_string(number), ", expected 0 to 12"}));
  return 0;
}

inline bool ReadGgufBool(GgufCursor& cursor, std::string_view name) {
  const auto value = cursor.Number<uint8_t>(name);
  if (value > 1) cursor.Complain(Concat({name, " must be 0 or 1, but is ", std::to_string(value)}));
  return value != 0;
}

inline GgufArray ReadGgufArray(GgufCursor& cursor, std::string_view name, size_t nesting);

// Skips the elements of an array; reports those that cannot be decoded.
inline void SkipGgufElements(GgufCursor& cursor, GgufValueType type, uint64_t count, std::string_view name,
                             size_t nesting) {
  switch (type) {
    case GgufValueType::kBool:
      for (uint64_t i = 0; i < count && cursor.ok(); ++i) (void)ReadGgufBool(cursor, name);
      break;
    case GgufValueType::kString:
      for (uint64_t i = 0; i < count && cursor.ok(); ++i) (void)cursor.String(name);
      break;
    case GgufValueType::kArray:
      for (uint64_t i = 0; i < count && cursor.ok(); ++i) (void)ReadGgufArray(cursor, name, nesting + 1);
      break;
    default:
      cursor.Skip(static_cast<size_t>(count) * LeastGgufBytes(cursor, type, name));  // Count checked that they fit
  }
}

inline GgufArray ReadGgufArray(GgufCursor& cursor, std::string_view name, size_t nesting) {
  if (nesting == kMaxGgufNesting) cursor.Complain(Concat({name, " is an array in too many arrays"}));
  const auto type = static_cast<GgufValueType>(cursor.Number<uint32_t>(name));
  const size_t least = LeastGgufBytes(cursor, type, name);
  const uint64_t count = cursor.ok() ? cursor.Count("the length of ", name, least) : 0;
  const size_t begin = cursor.position();
  SkipGgufElements(cursor, type, count, name, nesting);
  return {type, count, cursor.Since(begin)};
}

SKALD_INLINE GgufValue ReadGgufValue(GgufCursor& cursor, GgufValueType type, std::string_view name, size_t nesting) {
  switch (type) {
    case GgufValueType::kUint8:
      return GgufScalar(uint64_t{cursor.Number<uint8_t>(name)});
    case GgufValueType::kInt8:
      return GgufScalar(int64_t{cursor.Number<int8_t>(name)});
    case GgufValueType::kUint16:
      return GgufScalar(uint64_t{cursor.Number<uint16_t>(name)});
    case GgufValueType::kInt16:
      return GgufScalar(int64_t{cursor.Number<int16_t>(name)});
    case GgufValueType::kUint32:
      return GgufScalar(uint64_t{cursor.Number<uint32_t>(name)});
    case GgufValueType::kInt32:
      return GgufScalar(int64_t{cursor.Number<int32_t>(name)});
    case GgufValueType::kFloat32:
      return GgufScalar(double{cursor.Number<float>(name)});
    case GgufValueType::kBool:
      return GgufScalar(ReadGgufBool(cursor, name));
    case GgufValueType::kString:
      return GgufScalar(std::string(cursor.String(name)));
    case GgufValueType::kArray:
      return ReadGgufArray(cursor, name, nesting);
    case GgufValueType::kUint64:
      return GgufScalar(uint64_t{cursor.Number<uint64_t>(name)});
    case GgufValueType::kInt64:
      return GgufScalar(int64_t{cursor.Number<int64_t>(name)});
    case GgufValueType::kFloat64:
      return GgufScalar(cursor.Number<double>(name));
  }
  (void)LeastGgufBytes(cursor, type, name);
  return GgufScalar();
}

SKALD_INLINE GgufMetadata ReadGgufMetadata(GgufCursor& cursor, uint64_t count) {
  GgufMetadata metadata;
  if (count > kMaxGgufValues) {
    cursor.Complain(Concat({"the number of metadata values is ", std::to_string(count), ", expected at most ",
                            std::to_string(kMaxGgufValues)}));
  }
  for (uint64_t i = 0; i < count && cursor.ok(); ++i) {
    std::string name(cursor.String(Concat({"the name of metadata value ", std::to_string(i)})));
    const std::string shown = Concat({"metadata ", QuotedName(name)});
    const auto type = static_cast<GgufValueType>(cursor.Number<uint32_t>(shown));
    GgufValue value = ReadGgufValue(cursor, type, shown);
    if (!cursor.ok()) break;
    const GgufArray* const array = std::get_if<GgufArray>(&value);
    if (metadata.Contains(name)) cursor.Complain(Concat({shown, " is there twice"}));
    if (array != nullptr) {
      metadata.arrays.emplace(std::move(name), *array);
    } else {
      metadata.values.emplace(std::move(name), std::get<GgufScalar>(std::move(value)));
    }
  }
  return metadata;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_GGUF_METADATA_H_
