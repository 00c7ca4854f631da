// SPDX-License-Identifier: Apache-2.0
//
// What rank 0 tells the others, as bytes. All ranks are of one program and one kind of processor, which a handshake
// makes sure of, so that numbers go as they lie in memory.

#ifndef SKALD_DISTRIBUTED_RANK_MESSAGES_H_
#define SKALD_DISTRIBUTED_RANK_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/numbers/byte_codec.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/form/runtime_config.h"

namespace skald::internal {

enum class RankOrder : uint32_t {
  kPool,     // make a pool
  kDrop,     // a pool is gone
  kStep,     // compute a planned step
  kCollect,  // give the bytes of blocks
  kFill,     // take the bytes of blocks
  kStop,     // there will be no more
};

// A new pool, by the number that it will go by.
struct PoolOrder {
  uint64_t pool = 0;
  RuntimeConfig runtime;
};

struct StepOrder {
  uint64_t pool = 0;
  uint32_t pass_tokens = 0;
  uint32_t is_observed = 0;     // on rank 0, whose stream all have then
  std::vector<std::byte> plan;  // StepPlanToBytes
  std::vector<int32_t> tokens;  // of all its sequences
};

// Blocks of one group.
struct BlocksOrder {
  uint64_t pool = 0;
  uint32_t group = 0;
  std::vector<BlockId> blocks;
};

inline std::vector<std::byte> BytesOf(const PoolOrder& order) {
  ByteWriter writer;
  writer.Put(RankOrder::kPool);
  writer.Put(order.pool);
  writer.Put(order.runtime);
  return writer.bytes();
}

// Of kDrop and kStop; that has no number.
inline std::vector<std::byte> BytesOf(RankOrder what, uint64_t pool = 0) {
  ByteWriter writer;
  writer.Put(what);
  writer.Put(pool);
  return writer.bytes();
}

inline std::vector<std::byte> BytesOf(const StepOrder& order) {
  ByteWriter writer;
  writer.Put(RankOrder::kStep);
  writer.Put(order.pool);
  writer.Put(order.pass_tokens);
  writer.Put(order.is_observed);
  writer.PutList(std::span(order.plan));
  writer.PutList(std::span(order.tokens));
  return writer.bytes();
}

inline std::vector<std::byte> BytesOf(RankOrder what, const BlocksOrder& order) {
  ByteWriter writer;
  writer.Put(what);
  writer.Put(order.pool);
  writer.Put(order.group);
  writer.PutList(std::span(order.blocks));
  return writer.bytes();
}

inline PoolOrder GetPoolOrder(ByteReader& reader) {
  PoolOrder order;
  order.pool = reader.Get<uint64_t>();
  order.runtime = reader.Get<RuntimeConfig>();
  return order;
}

inline StepOrder GetStepOrder(ByteReader& reader) {
  StepOrder order;
  order.pool = reader.Get<uint64_t>();
  order.pass_tokens = reader.Get<uint32_t>();
  order.is_observed = reader.Get<uint32_t>();
  order.plan = reader.GetList<std::byte>();
  order.tokens = reader.GetList<int32_t>();
  return order;
}

inline BlocksOrder GetBlocksOrder(ByteReader& reader) {
  BlocksOrder order;
  order.pool = reader.Get<uint64_t>();
  order.group = reader.Get<uint32_t>();
  order.blocks = reader.GetList<BlockId>();
  return order;
}

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_RANK_MESSAGES_H_
