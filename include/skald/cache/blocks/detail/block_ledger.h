// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/block_ledger.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_BLOCK_LEDGER_H_
#define SKALD_CACHE_BLOCKS_DETAIL_BLOCK_LEDGER_H_

#include "skald/cache/blocks/block_ledger.h"

#include <algorithm>

#include "skald/base/highway.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE BlockLedger::BlockLedger(std::vector<uint64_t> block_bytes, uint64_t limit_bytes)
    : limit_bytes_(limit_bytes) {
  for (const uint64_t bytes : block_bytes) groups_.push_back({bytes, {}, {}});
}

SKALD_INLINE std::optional<BlockId> BlockLedger::Allocate(size_t group) {
  Group& g = groups_[group];
  if (g.block_bytes > available_bytes()) return std::nullopt;
  if (g.free.empty()) AddBlock(g);
  const BlockId id = g.free.back();
  g.free.pop_back();
  g.references[id] = 1;
  used_bytes_ += g.block_bytes;
  return id;
}

SKALD_INLINE void BlockLedger::AddReference(size_t group, BlockId id) {
  HWY_DASSERT(groups_[group].references[id] > 0);
  ++groups_[group].references[id];
}

SKALD_INLINE void BlockLedger::DropReference(size_t group, BlockId id) noexcept {
  Group& g = groups_[group];
  HWY_DASSERT(g.references[id] > 0);
  if (--g.references[id] > 0) return;
  g.free.push_back(id);
  used_bytes_ -= g.block_bytes;
}

SKALD_INLINE void BlockLedger::RestoreReference(size_t group, BlockId id) noexcept {
  Group& g = groups_[group];
  if (g.references[id]++ > 0) return;
  HWY_DASSERT(g.free.back() == id);
  g.free.pop_back();
  used_bytes_ += g.block_bytes;
}

SKALD_INLINE void BlockLedger::AddBlock(Group& g) {
  if (g.references.size() == std::min(g.references.capacity(), g.free.capacity())) {
    const size_t room = std::max<size_t>(16, 2 * g.references.size());
    g.free.reserve(room);
    g.references.reserve(room);
  }
  g.free.push_back(static_cast<BlockId>(g.references.size()));
  g.references.push_back(0);
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_BLOCK_LEDGER_H_
