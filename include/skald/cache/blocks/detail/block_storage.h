// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/block_storage.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_BLOCK_STORAGE_H_
#define SKALD_CACHE_BLOCKS_DETAIL_BLOCK_STORAGE_H_

#include "skald/cache/blocks/block_storage.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE bool BlockStorage::IsResident(size_t group, BlockId id) const {
  const auto& pages = groups_[group];
  return id / kPageBlocks < pages.size() && pages[id / kPageBlocks] && !At(group, id).empty();
}

SKALD_INLINE void BlockStorage::MakeResident(size_t group, BlockId id, size_t block_bytes) {
  auto& pages = groups_[group];
  if (id / kPageBlocks >= pages.size()) pages.resize(id / kPageBlocks + 1);
  if (!pages[id / kPageBlocks]) pages[id / kPageBlocks] = std::make_unique<Page>();
  AlignedBuffer<std::byte>& block = At(group, id);
  if (!block.empty()) return;
  block = AlignedBuffer<std::byte>(block_bytes, Unfilled{});
  resident_bytes_ += block_bytes;
}

SKALD_INLINE void BlockStorage::Evict(size_t group, BlockId id) {
  resident_bytes_ -= At(group, id).size();
  At(group, id) = {};
}

SKALD_INLINE AlignedBuffer<std::byte>& BlockStorage::At(size_t group, BlockId id) const {
  return (*groups_[group][id / kPageBlocks])[id % kPageBlocks];
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_BLOCK_STORAGE_H_
