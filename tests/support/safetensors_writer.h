// SPDX-License-Identifier: Apache-2.0
//
// Writes safetensors files for tests, well-formed ones and, with a header of the test's own,
// damaged ones.

#ifndef SKALD_TESTS_SUPPORT_SAFETENSORS_WRITER_H_
#define SKALD_TESTS_SUPPORT_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

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

inline NewTensor FloatTensor(const std::string& name, std::vector<uint64_t> shape,
                             const std::vector<float>& values) {
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
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return SafetensorsImage(header.dump(), data);
}

inline void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A fresh empty folder that disappears, with what is in it, at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    do {
      path_ = std::filesystem::temp_directory_path() / ("skald-test-" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_SAFETENSORS_WRITER_H_
