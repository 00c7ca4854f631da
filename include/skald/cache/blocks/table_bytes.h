// SPDX-License-Identifier: Apache-2.0
//
// BlockTable as bytes, for another process that has the same blocks. Little-endian:
//
//   u32 magic, u32 version, u32 tokens, u64 groups,
//     for each: u32 first_token, blocks (u32 each);
//   edits (u32 source, u32 length).
//
// Lists are a u64 of how many there are, then the elements. A change of any of that is a new version.

#ifndef SKALD_CACHE_BLOCKS_TABLE_BYTES_H_
#define SKALD_CACHE_BLOCKS_TABLE_BYTES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

/// Returns an error, kDataLoss, if `table` cannot be that of a sequence in `pool`. The content of the blocks cannot be
/// checked.
Result<void> CheckBlockTable(const BlockTable& table, const BlockPool& pool);

/// Returns the table as bytes. Error: kResourceExhausted.
Result<std::vector<std::byte>> BlockTableToBytes(const BlockTable& table);

/// Returns the table that `bytes` hold, of a sequence in `pool`. Errors: kDataLoss (bytes that are no table, or one
/// that CheckBlockTable refuses), kUnsupported (another version), kResourceExhausted.
Result<BlockTable> BlockTableFromBytes(std::span<const std::byte> bytes, const BlockPool& pool);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/table_bytes.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_TABLE_BYTES_H_
