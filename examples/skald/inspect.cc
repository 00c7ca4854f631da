// SPDX-License-Identifier: Apache-2.0

#include "inspect.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "language_model.h"
#include "skald/weights/checkpoint.h"
#include "skald/weights/message.h"

namespace skald::program {
namespace {

constexpr size_t kMaxShown = 60;  // characters of a string, and of an array's beginning

// Returns one short line of ASCII.
std::string Show(const nlohmann::json& value) {
  std::string text;
  if (value.is_array()) {
    for (const auto& element : value) {
      if (text.size() > kMaxShown) break;
      text += (text.empty() ? "" : ", ") + Show(element);
    }
  } else {
    text = value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  }
  if (text.size() > kMaxShown) text.replace(kMaxShown, std::string::npos, "...");
  return value.is_array() ? std::to_string(value.size()) + " values: " + text : text;
}

uint64_t NumElements(const TensorView& tensor) {
  uint64_t elements = 1;
  for (const uint64_t size : tensor.shape) elements *= size;
  return elements;
}

struct Total {
  uint64_t tensors = 0, elements = 0, bytes = 0;
};

void PrintTotal(const std::string& name, const Total& total) {
  std::cout << "  " << std::left << std::setw(10) << name << std::right << std::setw(6) << total.tensors << " tensors"
            << std::setw(16) << total.elements << " elements" << std::setw(16) << total.bytes << " bytes\n";
}

void PrintTensors(const Checkpoint& checkpoint) {
  size_t width = 0;
  for (const TensorView& tensor : checkpoint.tensors()) width = std::max(width, QuotedName(tensor.name).size());
  std::map<std::string, Total> totals;
  std::cout << "tensors:\n";
  for (const TensorView& tensor : checkpoint.tensors()) {
    const std::string shape = ShapeText(tensor.shape);
    std::cout << "  " << std::left << std::setw(static_cast<int>(width)) << QuotedName(tensor.name) << ' '
              << std::setw(9) << tensor.dtype_name << std::setw(20) << shape << std::right << std::setw(14)
              << tensor.bytes.size() << " bytes\n";
    Total& total = totals[std::string(tensor.dtype_name)];
    ++total.tensors;
    total.elements += NumElements(tensor);
    total.bytes += tensor.bytes.size();
  }
  Total all;
  std::cout << "totals:\n";
  for (const auto& [name, total] : totals) {
    PrintTotal(name, total);
    all = {all.tensors + total.tensors, all.elements + total.elements, all.bytes + total.bytes};
  }
  PrintTotal("all", all);
}

// The folder whose config.json belongs to a file of tensors.
std::filesystem::path ModelOf(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_whole = std::filesystem::is_directory(path, ignored) || IsGgufFile(path);
  return is_whole ? path : std::filesystem::absolute(path, ignored).parent_path();
}

}  // namespace

Result<int> RunInspect(const Options& options) {
  const auto checkpoint = Checkpoint::Open(options.model);
  if (!checkpoint) return Failure(checkpoint.error());
  const GgufFile* const gguf = checkpoint->gguf();
  std::cout << checkpoint->path().string() << ": " << (gguf != nullptr ? "GGUF" : "safetensors") << '\n';
  if (gguf != nullptr) {
    std::cout << "metadata:\n";
    for (const auto& [name, value] : gguf->metadata().items()) {
      const std::string shown = QuotedName(name);
      std::cout << "  " << shown.substr(1, shown.size() - 2) << " = " << Show(value) << '\n';
    }
  }
  const auto info = IdentifyModel(ModelOf(options.model));
  std::cout << "Config: " << (info ? std::string(info->name) : "none: " + info.error().message) << '\n';
  PrintTensors(*checkpoint);
  return 0;
}

}  // namespace skald::program
