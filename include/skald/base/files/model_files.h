// SPDX-License-Identifier: Apache-2.0
//
// Which files' bytes are the model at a path. The one answer for whoever opens a model (weights/files/checkpoint.h),
// notices that it changed (weights/packed_files/packed_source.h) or names state after it (store/snapshots/identity.h):
// a file that one of them overlooks would let the state of one model reach another.

#ifndef SKALD_BASE_FILES_MODEL_FILES_H_
#define SKALD_BASE_FILES_MODEL_FILES_H_

#include <filesystem>
#include <vector>

#include "skald/base/files/shard_index.h"
#include "skald/base/result.h"

namespace skald {

struct ModelFiles {
  /// What holds parameters; at least one file, shards in the order of their names.
  std::vector<std::filesystem::path> weights;
  /// What lists the shards, and what it says of them; empty where one file is all.
  std::filesystem::path index = {};
  ShardIndex shards = {};

  /// All of them, in the order of their names.
  std::vector<std::filesystem::path> all() const;
};

/// Returns the files of the model at `path`: of a folder model.safetensors or, where there is none, the shards that
/// model.safetensors.index.json lists; of such an index (*.json) its shards; else the file itself, whatever kind it is.
/// Reads the index alone: whether there are the files that are named, and whether they hold a model, shows when they
/// are opened. Errors: kNotFound for a folder with neither file; those of ReadShardIndex.
Result<ModelFiles> ModelFilesAt(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/model_files.h"
#endif

#endif  // SKALD_BASE_FILES_MODEL_FILES_H_
