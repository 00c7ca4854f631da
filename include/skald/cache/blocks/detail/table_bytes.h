// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/table_bytes.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_TABLE_BYTES_H_
#define SKALD_CACHE_BLOCKS_DETAIL_TABLE_BYTES_H_

#include "skald/cache/blocks/table_bytes.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"

namespace skald {

namespace internal {

struct ByteFormat {
  uint32_t magic, version;
  const char* name;  // of the contents
};

inline constexpr ByteFormat kTableFormat = {.magic = 0x54424B53, .version = 1, .name = "block table"};  // "SKBT"

inline void PutHeader(ByteWriter& writer, const ByteFormat& format) {
  writer.Put(format.magic);
  writer.Put(format.version);
}

inline Failure FailDamaged(const ByteFormat& format) {
  return Fail(ErrorCode::kDataLoss, std::string("the bytes of the ") + format.name + " are damaged or cut short");
}

inline Result<void> CheckHeader(ByteReader& reader, const ByteFormat& format) {
  const auto magic = reader.Get<uint32_t>(), version = reader.Get<uint32_t>();
  if (!reader.ok() || magic != format.magic) {
    return Fail(ErrorCode::kDataLoss, std::string("the bytes are no ") + format.name);
  }
  if (version != format.version) {
    return Fail(ErrorCode::kUnsupported, std::string("the ") + format.name + " is of version " +
                                             std::to_string(version) + ", expected " + std::to_string(format.version));
  }
  return {};
}

inline void PutGroups(ByteWriter& writer, const std::vector<GroupTable>& groups) {
  writer.Put(uint64_t{groups.size()});
  for (const GroupTable& group : groups) {
    writer.Put(group.first_token);
    writer.PutList(std::span(group.blocks));
  }
}

inline std::vector<GroupTable> GetGroups(ByteReader& reader) {
  std::vector<GroupTable> groups;
  for (size_t left = reader.GetCount(sizeof(uint32_t) + sizeof(uint64_t)); left > 0 && reader.ok(); --left) {
    const auto first_token = reader.Get<uint32_t>();
    groups.push_back({first_token, reader.GetList<BlockId>()});
  }
  return groups;
}

// Whether `edits`, if there are any, are an order of `tokens` tokens stored at different positions below `max_tokens`.
inline bool AreEdits(Segments edits, uint32_t tokens, uint32_t max_tokens) {
  std::sort(edits.begin(), edits.end(), [](const Segment& a, const Segment& b) { return a.source < b.source; });
  uint64_t total = 0, stored = 0;
  for (const Segment& run : edits) {
    if (run.length == 0 || run.source < stored) return false;
    stored = uint64_t{run.source} + run.length;
    total += run.length;
    if (stored > max_tokens) return false;
  }
  return edits.empty() || total == tokens;
}

// Whether group `g` lists the blocks that it must.
inline bool AreBlocksOf(const BlockTable& table, size_t g, const CacheGroup& group, const RuntimeConfig& runtime) {
  const uint32_t first = table.groups[g].first_token, tokens = table.tokens;
  const size_t count = table.groups[g].blocks.size();
  if (group.is_inputs()) return first <= tokens && count == tokens - first;
  if (group.is_replayed()) {
    const size_t bases = first > 0 ? 1 : 0;
    return first <= tokens && count >= bases && count <= bases + (first < tokens ? 1 : 0);
  }
  if (group.is_recurrent()) {
    return tokens == 0 ? count == 0 : first > 0 && first <= tokens && count == size_t{tokens} - first + 1;
  }
  uint32_t stored = table.edits.empty() ? tokens : 0;
  for (const Segment& run : table.edits) stored = std::max(stored, run.source + run.length);
  const auto blocks_up_to = [&](uint32_t end) {
    const uint32_t step = runtime.block_tokens;
    return first < end ? (size_t{end} + step - 1) / step - first / step : 0;
  };
  if (first > stored || FirstRetained(table, first) > group.FirstVisible(tokens)) return false;
  // Blocks that only erased tokens used stay until the edits are carried out.
  return table.edits.empty() ? count == blocks_up_to(stored)
                             : count >= blocks_up_to(stored) && count <= blocks_up_to(runtime.max_tokens);
}

}  // namespace internal

SKALD_INLINE Result<void> CheckBlockTable(const BlockTable& table, const BlockPool& pool) {
  return NoThrow("CheckBlockTable", [&]() -> Result<void> {
    const auto refuse = [](const std::string& what) { return Fail(ErrorCode::kDataLoss, "the block table " + what); };
    const std::span<const CacheGroup> groups = pool.layout().groups();
    const uint32_t max_tokens = pool.runtime().max_tokens;
    if (table.groups.size() != groups.size()) return refuse("has another number of groups than the pool's layout");
    if (table.tokens > max_tokens) return refuse("goes beyond the pool's token limit (RuntimeConfig::max_tokens)");
    if (!internal::AreEdits(table.edits, table.tokens, max_tokens) ||
        (!table.edits.empty() && !pool.layout().moves_tokens())) {
      return refuse("has edits that no cache can have");
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const BlockId id : table.groups[g].blocks) {
        if (id >= pool.max_blocks(g)) return refuse("names a block that the pool cannot have");
      }
      if (!internal::AreBlocksOf(table, g, groups[g], pool.runtime())) {
        return refuse("does not list the blocks of its tokens in group " + std::to_string(g));
      }
      const auto group = static_cast<uint32_t>(g);
      if (groups[g].is_replayed() &&
          table.groups[pool.layout().InputsOf(group)].first_token != table.groups[g].first_token) {
        return refuse("lists other inputs than those after its state in group  " + std::to_string(g));
      }
    }
    return {};
  });
}

SKALD_INLINE Result<std::vector<std::byte>> BlockTableToBytes(const BlockTable& table) {
  return NoThrow("BlockTableToBytes", [&]() -> Result<std::vector<std::byte>> {
    ByteWriter writer;
    internal::PutHeader(writer, internal::kTableFormat);
    writer.Put(table.tokens);
    internal::PutGroups(writer, table.groups);
    writer.PutList(std::span(table.edits));
    return writer.bytes();
  });
}

SKALD_INLINE Result<BlockTable> BlockTableFromBytes(std::span<const std::byte> bytes, const BlockPool& pool) {
  return NoThrow("BlockTableFromBytes", [&]() -> Result<BlockTable> {
    ByteReader reader(bytes);
    SKALD_TRY(internal::CheckHeader(reader, internal::kTableFormat));
    BlockTable table;
    table.tokens = reader.Get<uint32_t>();
    table.groups = internal::GetGroups(reader);
    table.edits = reader.GetList<Segment>();
    if (!reader.Finished()) return internal::FailDamaged(internal::kTableFormat);
    SKALD_TRY(CheckBlockTable(table, pool));
    return table;
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_TABLE_BYTES_H_
