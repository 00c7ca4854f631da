// SPDX-License-Identifier: Apache-2.0
//
// A reader of safetensors files that shares no code with the library, for comparison.

#ifndef SKALD_TESTS_WEIGHTS_RAW_FILE_H_
#define SKALD_TESTS_WEIGHTS_RAW_FILE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/safetensors_writer.h"

namespace skald::testing {

class RawFile {
 public:
  explicit RawFile(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string image(std::istreambuf_iterator<char>(file), {});
    uint64_t length;
    std::memcpy(&length, image.data(), sizeof(length));
    header_ = nlohmann::json::parse(image.substr(8, length));
    data_ = image.substr(8 + length);
  }

  std::vector<float> Tensor(const std::string& name) const {
    const nlohmann::json& entry = header_.at(name);
    const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    const size_t width = entry["dtype"] == "F32" ? 4 : 2;  // BF16 is the upper half of a float
    std::vector<float> values;
    for (size_t at = begin; at < end; at += width) {
      uint32_t bits = 0;
      std::memcpy(reinterpret_cast<char*>(&bits) + 4 - width, data_.data() + at, width);
      values.push_back(std::bit_cast<float>(bits));
    }
    return values;
  }

  // Returns all tensors, to be written again with changes.
  std::vector<NewTensor> Tensors() const {
    std::vector<NewTensor> tensors;
    for (const auto& [name, entry] : header_.items()) {
      if (name == "__metadata__") continue;
      const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
      tensors.push_back({name, entry["dtype"], entry["shape"], data_.substr(begin, end - begin)});
    }
    return tensors;
  }

  // Returns the tensors of these names one after the other.
  std::vector<float> Tensors(const std::string& prefix, const std::vector<std::string>& names) const {
    std::vector<float> all;
    for (const std::string& name : names) {
      const std::vector<float> values = Tensor(prefix + name);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  nlohmann::json header_;
  std::string data_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_WEIGHTS_RAW_FILE_H_
