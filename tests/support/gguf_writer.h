// SPDX-License-Identifier: Apache-2.0
//
// Writes GGUF files for tests, well-formed ones and, cut and changed by the test, damaged ones.

#ifndef SKALD_TESTS_SUPPORT_GGUF_WRITER_H_
#define SKALD_TESTS_SUPPORT_GGUF_WRITER_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {

// The bytes of a value as they lie in memory.
template <class T>
std::string Raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::string GgufString(std::string_view text) { return Raw(uint64_t{text.size()}).append(text); }

// Metadata: each call appends a name, a type and a value.
class GgufValues {
 public:
  GgufValues& U32(std::string_view name, uint32_t value) { return Add(name, 4, Raw(value)); }
  GgufValues& F32(std::string_view name, float value) { return Add(name, 6, Raw(value)); }
  GgufValues& Bool(std::string_view name, bool value) { return Add(name, 7, Raw(uint8_t{value})); }
  GgufValues& String(std::string_view name, std::string_view value) { return Add(name, 8, GgufString(value)); }
  GgufValues& Strings(std::string_view name, const std::vector<std::string>& values) {
    std::string bytes = Raw(uint32_t{8}) + Raw(uint64_t{values.size()});
    for (const std::string& value : values) bytes += GgufString(value);
    return Add(name, 9, bytes);
  }
  template <class T>
  GgufValues& Numbers(std::string_view name, uint32_t type, const std::vector<T>& values) {
    return Add(name, 9, Raw(type) + Raw(uint64_t{values.size()}) + BytesOf(values));
  }
  // Any type and bytes.
  GgufValues& Add(std::string_view name, uint32_t type, std::string_view bytes) {
    bytes_ += GgufString(name) + Raw(type);
    bytes_ += bytes;
    ++count_;
    return *this;
  }

  uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  uint64_t count_ = 0;
};

// The values of a JSON object as metadata: integers, floats, truth values, strings, and arrays of one of these.
inline GgufValues GgufValuesOf(const nlohmann::json& object) {
  const auto type_of = [](const nlohmann::json& value) -> uint32_t {
    return value.is_string() ? 8 : value.is_boolean() ? 7 : value.is_number_float() ? 6 : 5;
  };
  const auto bytes_of = [](const nlohmann::json& value) {
    if (value.is_string()) return GgufString(value.get_ref<const std::string&>());
    if (value.is_boolean()) return Raw(static_cast<uint8_t>(value.get<bool>()));
    return value.is_number_float() ? Raw(value.get<float>()) : Raw(value.get<int32_t>());
  };
  GgufValues values;
  for (const auto& [name, value] : object.items()) {
    if (!value.is_array()) {
      values.Add(name, type_of(value), bytes_of(value));
      continue;
    }
    const bool has_floats = std::ranges::any_of(value, [](const auto& element) { return element.is_number_float(); });
    std::string bytes = Raw(value.empty() ? 5u : has_floats ? 6u : type_of(value[0])) + Raw(uint64_t{value.size()});
    for (const auto& element : value) bytes += has_floats ? Raw(element.get<float>()) : bytes_of(element);
    values.Add(name, 9, bytes);
  }
  return values;
}

struct NewGgufTensor {
  std::string name;
  uint32_t type;
  std::vector<uint64_t> shape;  // outermost axis first
  std::string bytes;
};

// Where the parts of an image begin.
struct GgufParts {
  size_t values, tensors, data, end;
};

// Returns a file image and, if `parts` is given, its outline.
inline std::string GgufImage(const GgufValues& values, const std::vector<NewGgufTensor>& tensors, size_t alignment = 32,
                             GgufParts* parts = nullptr) {
  const auto pad = [alignment](std::string& bytes) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  };
  std::string image = "GGUF" + Raw(uint32_t{3}) + Raw(uint64_t{tensors.size()}) + Raw(values.count());
  const size_t values_begin = image.size();
  image += values.bytes();
  const size_t tensors_begin = image.size();
  std::string data;
  for (const NewGgufTensor& tensor : tensors) {
    pad(data);
    image += GgufString(tensor.name) + Raw(static_cast<uint32_t>(tensor.shape.size()));
    image += BytesOf(std::vector<uint64_t>(tensor.shape.rbegin(), tensor.shape.rend()));
    image += Raw(tensor.type) + Raw(uint64_t{data.size()});
    data += tensor.bytes;
  }
  pad(image);
  if (parts != nullptr) *parts = {values_begin, tensors_begin, image.size(), image.size() + data.size()};
  return image + data;
}

// Returns the image of a golden model's file. It is also left for tests/peers/ where SKALD_GGUF_FILES names a folder.
inline std::string Kept(const std::string& golden, std::string image) {
  if (const char* const folder = std::getenv("SKALD_GGUF_FILES")) {
    WriteFile(std::filesystem::path(folder) / (golden + ".gguf"), image);
  }
  return image;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GGUF_WRITER_H_
