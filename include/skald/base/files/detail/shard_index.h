// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/shard_index.h.

#ifndef SKALD_BASE_FILES_DETAIL_SHARD_INDEX_H_
#define SKALD_BASE_FILES_DETAIL_SHARD_INDEX_H_

#include "skald/base/files/shard_index.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/json/detail/strict_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"

namespace skald {

namespace internal {

// Names in an index must not lead out of its folder, and must be safe to print on a terminal.
inline bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\:") == name.npos &&
         Printable(name) == name;
}

// Reads {"weight_map": {tensor: shard, ...}, ...} into `index`. Returns "" or a complaint.
inline std::string ReadWeightMap(const nlohmann::json& root, ShardIndex& index) {
  const auto weight_map = root.is_object() ? root.find("weight_map") : root.end();
  if (weight_map == root.end() || !weight_map->is_object() || weight_map->empty()) {
    return "expected a JSON object with a 'weight_map' from tensor names to shards";
  }
  for (const auto& [tensor, shard] : weight_map->items()) {
    const auto* name = shard.get_ptr<const std::string*>();
    if (name == nullptr) {
      return Concat({"the shard of tensor ", QuotedName(tensor), " must be a string"});
    }
    if (!IsPlainFileName(*name)) {
      return Concat(
          {"the shard ", QuotedName(*name), " of tensor ", QuotedName(tensor), " must be a file name without folders"});
    }
    index[*name].push_back(tensor);
  }
  return "";
}

}  // namespace internal

SKALD_INLINE Result<ShardIndex> ReadShardIndex(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<ShardIndex> {
    SKALD_ASSIGN(const auto text, ReadSmallFile(path, kMaxShardIndex));
    nlohmann::json root;
    const internal::JsonGuard guard(root);
    ShardIndex index;
    std::string complaint = internal::ParseStrictJson(text, root);
    if (complaint.empty()) complaint = internal::ReadWeightMap(root, index);
    if (!complaint.empty()) return Fail(ErrorCode::kDataLoss, Concat({PathText(path), ": ", complaint}));
    return index;
  });
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_SHARD_INDEX_H_
