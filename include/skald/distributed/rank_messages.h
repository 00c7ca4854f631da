// SPDX-License-Identifier: Apache-2.0
//
// Rank 0's messages to the others, as bytes. All ranks are of one program and one kind of processor, which a handshake
// checks, so numbers are sent as they are in memory.

#ifndef SKALD_DISTRIBUTED_RANK_MESSAGES_H_
#define SKALD_DISTRIBUTED_RANK_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/numbers/byte_codec.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald::internal {

enum class RankOrder : uint32_t {
  kPool,     ///< make a pool
  kDrop,     ///< a pool is gone
  kStep,     ///< compute a planned step
  kCollect,  ///< give the bytes of blocks
  kFill,     ///< take the bytes of blocks
  kStop,     ///< there will be no more
};

/// A new pool, by the number that it will go by.
struct PoolOrder {
  uint64_t pool = 0;
  RuntimeConfig runtime;
};

struct StepOrder {
  uint64_t pool = 0;
  uint32_t pass_tokens = 0;
  std::vector<std::byte> plan;  ///< StepPlanToBytes
  std::vector<int32_t> tokens;  ///< of all its sequences
  std::vector<char> hooked;     ///< places where rank 0 has hooks (PlacesOf)
};

/// Blocks of one group.
struct BlocksOrder {
  uint64_t pool = 0;
  uint32_t group = 0;
  std::vector<BlockId> blocks;
};

std::vector<std::byte> BytesOf(const PoolOrder& order);

/// Of kDrop and kStop; that has no number.
std::vector<std::byte> BytesOf(RankOrder what, uint64_t pool = 0);

std::vector<std::byte> BytesOf(const StepOrder& order);

std::vector<std::byte> BytesOf(RankOrder what, const BlocksOrder& order);

PoolOrder GetPoolOrder(ByteReader& reader);

StepOrder GetStepOrder(ByteReader& reader);

BlocksOrder GetBlocksOrder(ByteReader& reader);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/rank_messages.h"
#endif

#endif  // SKALD_DISTRIBUTED_RANK_MESSAGES_H_
