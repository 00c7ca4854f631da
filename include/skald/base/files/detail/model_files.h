// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/model_files.h.

#ifndef SKALD_BASE_FILES_DETAIL_MODEL_FILES_H_
#define SKALD_BASE_FILES_DETAIL_MODEL_FILES_H_

#include "skald/base/files/model_files.h"

#include <algorithm>
#include <utility>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/part_name.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"

namespace skald {

SKALD_INLINE std::vector<std::filesystem::path> ModelFiles::all() const {
  std::vector<std::filesystem::path> files = weights;
  if (!index.empty()) files.push_back(index);
  std::sort(files.begin(), files.end());
  return files;
}

namespace internal {

inline Result<ModelFiles> ShardedModel(const std::filesystem::path& index) {
  SKALD_ASSIGN(auto shards, ReadShardIndex(index));
  ModelFiles files;
  for (const auto& [name, tensors] : shards) files.weights.push_back(index.parent_path() / PathOfText(name));
  files.index = index;
  files.shards = std::move(shards);
  return files;
}

// A file, and the other parts of the model if it is the first of them.
inline ModelFiles FileAndParts(const std::filesystem::path& path) {
  const auto part = PartNameOf(PathText(path.filename()));
  if (!part || part->number != 1 || !FileBeginsWith(path, "GGUF")) return {{path}};
  ModelFiles files;
  for (const std::string& name : part->All()) files.weights.push_back(path.parent_path() / PathOfText(name));
  return files;
}

}  // namespace internal

SKALD_INLINE Result<ModelFiles> ModelFilesAt(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<ModelFiles> {
    // A file whose facts cannot be read counts as missing; opening it reports the reason.
    if (!internal::IsFolder(path)) {
      const bool is_index = path.extension() == ".json" && !FileBeginsWith(path, "GGUF");
      return is_index ? internal::ShardedModel(path) : internal::FileAndParts(path);
    }
    if (auto file = path / "model.safetensors"; internal::Exists(file)) {
      return ModelFiles{{std::move(file)}};
    }
    if (const auto index = path / "model.safetensors.index.json"; internal::Exists(index)) {
      return internal::ShardedModel(index);
    }
    return Fail(
        ErrorCode::kNotFound,
        Concat({PathText(path), ": expected model.safetensors or model.safetensors.index.json in this folder"}));
  });
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_MODEL_FILES_H_
