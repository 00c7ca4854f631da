// SPDX-License-Identifier: Apache-2.0
//
// A head that is published by itself is told by config.json of its folder, or by the metadata of its GGUF file.

#ifndef SKALD_MODEL_HEADS_DETAIL_HEAD_FILES_H_
#define SKALD_MODEL_HEADS_DETAIL_HEAD_FILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "skald/base/files/small_file.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/families/config_json.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

// config.json of a folder, or of the folder with a safetensors file. Null without one that can be read.
struct HeadJson {
  explicit HeadJson(const std::filesystem::path& path) {
    const auto folder = path.extension() == ".safetensors" ? path.parent_path() : path;
    const auto text = ReadSmallFile(folder / "config.json", kMaxConfigJson);
    if (!text || !ParsePythonJson(*text, json).empty()) json = nullptr;
  }

  nlohmann::json json;
  const JsonGuard guard{json};
};

// Whether a field is there and is this text.
inline bool SaysText(const nlohmann::json& json, const char* name, std::string_view text) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() && found->get_ref<const std::string&>() == text;
}

// The kind of value that a field of type T has, or null if `value` is that.
template <class T>
const char* WhyNo(const nlohmann::json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean() ? nullptr : "true or false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.is_string() ? nullptr : "a text";
  } else if constexpr (std::is_same_v<T, std::vector<size_t>>) {
    const auto is_number = [](const nlohmann::json& one) { return one.is_number_unsigned(); };
    return value.is_array() && std::ranges::all_of(value, is_number) ? nullptr : "an array of whole numbers";
  } else {
    constexpr uint64_t kMost = 1 << 30;
    return value.is_number_unsigned() && value.get<uint64_t>() <= kMost ? nullptr : "a whole number up to 2^30";
  }
}

// Takes a field out, so that what is left describes a model of a family that is read. Without it, or where it is null,
// `value` stays.
template <class T>
Result<void> Take(nlohmann::json& json, const char* name, T& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_null()) {
    if (const char* const what = WhyNo<T>(*found)) {
      return Fail(ErrorCode::kDataLoss, Concat({"config.json: ", name, ": expected ", what}));
    }
    found->get_to(value);
  }
  json.erase(found);
  return {};
}

// Whether `path` is a GGUF file of the architecture.
inline bool IsFileOf(std::string_view architecture, const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const auto file = GgufFile::Open(path);
  if (!file) return false;
  const std::string* const own = file->metadata().Get<std::string>("general.architecture");
  return own != nullptr && *own == architecture;
}

}  // namespace skald::internal

#endif  // SKALD_MODEL_HEADS_DETAIL_HEAD_FILES_H_
