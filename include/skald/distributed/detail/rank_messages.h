// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/rank_messages.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_RANK_MESSAGES_H_
#define SKALD_DISTRIBUTED_DETAIL_RANK_MESSAGES_H_

#include "skald/distributed/rank_messages.h"

#include <span>

#include "skald/base/inline.h"
#include "skald/base/result.h"

namespace skald {

namespace internal {

SKALD_INLINE std::vector<std::byte> BytesOf(const PoolOrder& order) {
  ByteWriter writer;
  writer.Put(RankOrder::kPool);
  writer.Put(order.pool);
  writer.Put(order.runtime);
  return writer.bytes();
}

SKALD_INLINE std::vector<std::byte> BytesOf(RankOrder what, uint64_t pool) {
  ByteWriter writer;
  writer.Put(what);
  writer.Put(pool);
  return writer.bytes();
}

SKALD_INLINE std::vector<std::byte> BytesOf(const StepOrder& order) {
  ByteWriter writer;
  writer.Put(RankOrder::kStep);
  writer.Put(order.pool);
  writer.Put(order.pass_tokens);
  writer.PutList(std::span(order.plan));
  writer.PutList(std::span(order.tokens));
  writer.PutList(std::span(order.hooked));
  return writer.bytes();
}

SKALD_INLINE std::vector<std::byte> BytesOf(RankOrder what, const BlocksOrder& order) {
  ByteWriter writer;
  writer.Put(what);
  writer.Put(order.pool);
  writer.Put(order.group);
  writer.PutList(std::span(order.blocks));
  return writer.bytes();
}

SKALD_INLINE PoolOrder GetPoolOrder(ByteReader& reader) {
  PoolOrder order;
  order.pool = reader.Get<uint64_t>();
  order.runtime = reader.Get<RuntimeConfig>();
  return order;
}

SKALD_INLINE StepOrder GetStepOrder(ByteReader& reader) {
  StepOrder order;
  order.pool = reader.Get<uint64_t>();
  order.pass_tokens = reader.Get<uint32_t>();
  order.plan = reader.GetList<std::byte>();
  order.tokens = reader.GetList<int32_t>();
  order.hooked = reader.GetList<char>();
  return order;
}

SKALD_INLINE BlocksOrder GetBlocksOrder(ByteReader& reader) {
  BlocksOrder order;
  order.pool = reader.Get<uint64_t>();
  order.group = reader.Get<uint32_t>();
  order.blocks = reader.GetList<BlockId>();
  return order;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_RANK_MESSAGES_H_
