// SPDX-License-Identifier: Apache-2.0
//
// Writes safetensors files for tests, well-formed ones and, with a header of the test's own,
// damaged ones.

#ifndef SKALD_TESTS_SUPPORT_SAFETENSORS_WRITER_H_
#define SKALD_TESTS_SUPPORT_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"  // IWYU pragma: export

namespace skald::testing {

// A tensor to be written: its elements as the bytes of the file.
struct NewTensor {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  std::string bytes;
};

// Returns the bytes of `values` as they lie in memory.
template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

inline NewTensor FloatTensor(const std::string& name, std::vector<uint64_t> shape, const std::vector<float>& values) {
  return {name, "F32", std::move(shape), BytesOf(values)};
}

// Returns a file image: the length of `header`, `header`, `data`.
inline std::string SafetensorsImage(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string image(reinterpret_cast<const char*>(&length), sizeof(length));
  return image.append(header).append(data);
}

inline std::string SafetensorsImage(const std::vector<NewTensor>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const NewTensor& tensor : tensors) {
    const size_t begin = data.size();
    data += tensor.bytes;
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return SafetensorsImage(header.dump(), data);
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_SAFETENSORS_WRITER_H_
