// SPDX-License-Identifier: Apache-2.0
//
// model.safetensors.index.json: which shard of a checkpoint holds which tensor.

#ifndef SKALD_BASE_FILES_SHARD_INDEX_H_
#define SKALD_BASE_FILES_SHARD_INDEX_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "skald/base/result.h"

namespace skald {

/// Largest index that is read, in bytes.
inline constexpr uint64_t kMaxShardIndex = 100'000'000;

/// File name of a shard -> the tensors that the index promises in it.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

Result<ShardIndex> ReadShardIndex(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/shard_index.h"
#endif

#endif  // SKALD_BASE_FILES_SHARD_INDEX_H_
