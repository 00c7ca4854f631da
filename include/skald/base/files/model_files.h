// SPDX-License-Identifier: Apache-2.0
//
// The files whose bytes are the model at a path. Opening a model (weights/files/checkpoint.h), noticing that it changed
// (weights/packed_files/packed_source.h) and naming state after it (store/snapshots/identity.h) all use this one
// answer: a file that one of them overlooked would let the state of one model reach another.

#ifndef SKALD_BASE_FILES_MODEL_FILES_H_
#define SKALD_BASE_FILES_MODEL_FILES_H_

#include <filesystem>
#include <vector>

#include "skald/base/files/shard_index.h"
#include "skald/base/result.h"

namespace skald {

/// The files of one checkpoint.
struct ModelFiles {
  /// The files with parameters, at least one; shards in the order of their names.
  std::vector<std::filesystem::path> weights;
  /// The file that lists the shards, and its content; empty if there is a single file.
  std::filesystem::path index = {};
  ShardIndex shards = {};  ///< which tensor is in which shard; empty if there is no index

  /// All files, in the order of their names.
  std::vector<std::filesystem::path> all() const;
};

/// Returns the files of the model at `path`. In a folder: model.safetensors or, if it is missing, the shards that
/// model.safetensors.index.json lists. For such an index (*.json): its shards. Otherwise: the file itself, of any kind;
/// for the first of several parts by its name (base/files/part_name.h), all of them. Reads the index alone. Whether the
/// named files exist and hold a model is checked when they are opened. Errors: kNotFound for a folder with neither
/// file; those of ReadShardIndex.
Result<ModelFiles> ModelFilesAt(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/model_files.h"
#endif

#endif  // SKALD_BASE_FILES_MODEL_FILES_H_
