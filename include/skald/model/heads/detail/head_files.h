// SPDX-License-Identifier: Apache-2.0
//
// A head that is published by itself is told by config.json of its folder, or by the metadata of its GGUF file.

#ifndef SKALD_MODEL_HEADS_DETAIL_HEAD_FILES_H_
#define SKALD_MODEL_HEADS_DETAIL_HEAD_FILES_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "skald/base/files/small_file.h"
#include "skald/base/json/json_tree.h"
#include "skald/families/config_json.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

// Of a folder, or of the folder with a safetensors file. Null without one that can be read.
inline nlohmann::json HeadJson(const std::filesystem::path& path) {
  const auto folder = path.extension() == ".safetensors" ? path.parent_path() : path;
  const auto text = ReadSmallFile(folder / "config.json", kMaxConfigJson);
  nlohmann::json json;
  if (!text || !ParseJson(*text, json).empty()) return {};
  return json;
}

// Takes a field out, so that what is left describes a model of a family that is read.
template <class T>
T Taken(nlohmann::json& json, const std::string& name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  T value = found->is_null() ? otherwise : found->get<T>();
  json.erase(found);
  return value;
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
