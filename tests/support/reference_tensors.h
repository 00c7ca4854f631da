// SPDX-License-Identifier: Apache-2.0
//
// Reads recorded tensors (tokens, logits, hidden states) that tests compare with.

#ifndef SKALD_TESTS_SUPPORT_REFERENCE_TENSORS_H_
#define SKALD_TESTS_SUPPORT_REFERENCE_TENSORS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/weights/files/checkpoint.h"

namespace skald::testing {

class ReferenceTensors {
 public:
  explicit ReferenceTensors(const std::filesystem::path& path) : file_(*Checkpoint::Open(path)) {}

  // Row `row` of a [rows, ...] tensor, flattened.
  std::vector<float> Floats(const std::string& name, size_t row) const { return Row<float>(name, "F32", row); }
  std::vector<int32_t> Tokens(const std::string& name, size_t row) const {
    const std::vector<int64_t> wide = Row<int64_t>(name, "I64", row);
    return {wide.begin(), wide.end()};
  }

  bool Has(const std::string& name) const { return file_.Find(name) != nullptr; }
  bool HasBehind(const std::string& prefix) const {
    return std::ranges::any_of(file_.tensors(), [&](const TensorView& one) { return one.name.starts_with(prefix); });
  }

  // A tensor without a leading axis of rows.
  std::vector<float> AllFloats(const std::string& name) const { return All<float>(name, "F32"); }
  std::vector<int32_t> AllTokens(const std::string& name) const {
    const std::vector<int64_t> wide = All<int64_t>(name, "I64");
    return {wide.begin(), wide.end()};
  }

 private:
  template <class T>
  std::vector<T> All(const std::string& name, const std::string& dtype) const {
    const TensorView* tensor = file_.Find(name);
    REQUIRE(tensor != nullptr);
    REQUIRE(tensor->dtype_name == dtype);
    std::vector<T> values(tensor->bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
    return values;
  }

  template <class T>
  std::vector<T> Row(const std::string& name, const std::string& dtype, size_t row) const {
    const std::vector<T> all = All<T>(name, dtype);
    const size_t size = all.size() / file_.Find(name)->shape[0];
    return {all.begin() + static_cast<ptrdiff_t>(row * size), all.begin() + static_cast<ptrdiff_t>((row + 1) * size)};
  }

  Checkpoint file_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_REFERENCE_TENSORS_H_
