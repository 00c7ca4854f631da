// SPDX-License-Identifier: Apache-2.0
//
// Reads the metadata of a GGUF file, names with values of thirteen types. Arrays, which can be as large as the file,
// stay in place and are decoded element by element on demand.

#ifndef SKALD_WEIGHTS_FILES_GGUF_METADATA_H_
#define SKALD_WEIGHTS_FILES_GGUF_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "skald/weights/files/gguf_cursor.h"

namespace skald {

/// The numbers of the types in files.
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

class GgufArray;

/// A number, a truth value or a string of any bytes. Integers are widened to 64 bits, floats to doubles.
using GgufScalar = std::variant<bool, uint64_t, int64_t, double, std::string>;

/// A value of metadata.
using GgufValue = std::variant<GgufScalar, GgufArray>;

/// A view of an array that was checked: its elements can all be decoded.
class GgufArray {
 public:
  /// `bytes` hold `size` elements and were checked.
  GgufArray(GgufValueType type, uint64_t size, std::span<const std::byte> bytes)
      : type_(type), size_(size), bytes_(bytes) {}

  /// Of all elements.
  GgufValueType type() const { return type_; }
  uint64_t size() const { return size_; }

  /// The elements, one after the other, little-endian.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Calls visit(const GgufValue&) for one element after the other, until it returns false.
  template <class Visit>
  void ForEach(Visit visit) const;

 private:
  GgufValueType type_;
  uint64_t size_;
  std::span<const std::byte> bytes_;  ///< the elements
};

/// The metadata of a file. Refers to the file's bytes, which must outlive it.
struct GgufMetadata {
  std::map<std::string, GgufScalar, std::less<>> values;  ///< by names like "llama.block_count"
  std::map<std::string, GgufArray, std::less<>> arrays;   ///< likewise

  /// Returns the value of that name if it is a T, a type of GgufScalar, and null if not.
  template <class T>
  const T* Get(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : std::get_if<T>(&found->second);
  }

  /// Returns the value of that name if it is a number, of any type.
  std::optional<double> Number(std::string_view name) const;

  /// Whether there is a value or an array of that name.
  bool Contains(std::string_view name) const;

  /// Returns null if there is no array of that name.
  const GgufArray* Array(std::string_view name) const;
};

namespace internal {

GgufValue ReadGgufValue(GgufCursor& cursor, GgufValueType type, std::string_view name, size_t nesting = 0);

/// Reads `count` names and values. Errors are the cursor's complaint.
GgufMetadata ReadGgufMetadata(GgufCursor& cursor, uint64_t count);

}  // namespace internal

template <class Visit>
void GgufArray::ForEach(Visit visit) const {
  internal::GgufCursor cursor(bytes_);
  for (uint64_t i = 0; i < size_; ++i) {
    if (!visit(internal::ReadGgufValue(cursor, type_, "an array"))) return;
  }
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/gguf_metadata.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_GGUF_METADATA_H_
