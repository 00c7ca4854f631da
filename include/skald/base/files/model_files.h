// SPDX-License-Identifier: Apache-2.0
//
// Which files' bytes are the model at a path. The one answer for whoever opens a model (weights/files/checkpoint.h),
// notices that it changed (weights/packed_files/packed_source.h) or names state after it (store/snapshots/identity.h):
// a file that one of them overlooks would let the state of one model reach another.

#ifndef SKALD_BASE_FILES_MODEL_FILES_H_
#define SKALD_BASE_FILES_MODEL_FILES_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/files/shard_index.h"
#include "skald/base/files/small_file.h"
#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

struct ModelFiles {
  // What holds parameters; at least one file, shards in the order of their names.
  std::vector<std::filesystem::path> weights;
  // What lists the shards, and what it says of them; empty where one file is all.
  std::filesystem::path index = {};
  ShardIndex shards = {};

  // All of them, in the order of their names.
  std::vector<std::filesystem::path> all() const {
    std::vector<std::filesystem::path> files = weights;
    if (!index.empty()) files.push_back(index);
    std::sort(files.begin(), files.end());
    return files;
  }
};

namespace internal {

inline Result<ModelFiles> ShardedModel(const std::filesystem::path& index) {
  auto shards = ReadShardIndex(index);
  if (!shards) return Failure(std::move(shards.error()));
  ModelFiles files;
  for (const auto& [name, tensors] : *shards) files.weights.push_back(index.parent_path() / name);
  files.index = index;
  files.shards = std::move(*shards);
  return files;
}

}  // namespace internal

// Returns the files of the model at `path`: of a folder model.safetensors or, where there is none, the shards that
// model.safetensors.index.json lists; of such an index (*.json) its shards; else the file itself, whatever kind it is.
// Reads the index alone: whether there are the files that are named, and whether they hold a model, shows when they are
// opened. Errors: kNotFound for a folder with neither file; those of ReadShardIndex.
inline Result<ModelFiles> ModelFilesAt(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<ModelFiles> {
    std::error_code ignored;  // what cannot be asked does not exist, and opening it says why
    if (!std::filesystem::is_directory(path, ignored)) {
      const bool is_index = path.extension() == ".json" && !FileBeginsWith(path, "GGUF");
      return is_index ? internal::ShardedModel(path) : ModelFiles{{path}};
    }
    if (auto file = path / "model.safetensors"; std::filesystem::exists(file, ignored)) {
      return ModelFiles{{std::move(file)}};
    }
    if (const auto index = path / "model.safetensors.index.json"; std::filesystem::exists(index, ignored)) {
      return internal::ShardedModel(index);
    }
    return Fail(ErrorCode::kNotFound,
                Concat({path.native(), ": expected model.safetensors or model.safetensors.index.json in this folder"}));
  });
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_MODEL_FILES_H_
