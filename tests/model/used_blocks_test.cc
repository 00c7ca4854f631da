// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a conversation's blocks are a function of its tokens, to the last byte: no data of earlier owners of the
// blocks can be reached.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace used_blocks_test {

// Leaves `trace` in many blocks of the pool, all of which are free again.
void LeaveTraces(BlockPool& pool, std::byte trace) {
  BlockTable taken;
  taken.groups.resize(pool.layout().groups().size());
  for (size_t g = 0; g < taken.groups.size(); ++g) {
    for (int i = 0; i < 60; ++i) {
      const BlockId id = *pool.Allocate(g);
      taken.groups[g].blocks.push_back(id);
      std::fill_n(pool.ResolveOne(g, id), pool.geometry(g).block_bytes(), trace);
    }
  }
  pool.DropReferences(taken);
}

// All bytes that the cache, or a rewinding of it, may read.
std::vector<std::byte> Reachable(const KVCache& cache) {
  std::vector<std::byte> all;
  cache.ForEachTable([&](const BlockTable& table) {
    table.ForEachBlock([&](size_t group, BlockId id) {
      const std::byte* const block = cache.pool()->ResolveOne(group, id);
      all.insert(all.end(), block, block + cache.pool()->geometry(group).block_bytes());
    });
  });
  return all;
}

std::vector<std::byte> HoldConversations(const RandomModel& model, std::byte trace) {
  const SmallModel& small = model.small();
  const RuntimeConfig runtime = {.block_tokens = 32, .resume_point_every = 30, .rewind_tokens = 3};
  auto pool = NewPool(small, runtime);
  LeaveTraces(*pool, trace);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(pool);
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 170);
  std::vector<std::byte> all;
  const auto look = [&](const KVCache& at) {
    const std::vector<std::byte> bytes = Reachable(at);
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  REQUIRE(model.Forward(cache, tokens, workspace, {.pass_tokens = 50}));
  look(cache);
  KVCache fork = *cache.Fork();
  REQUIRE(
      model.Forward(Batch().Add(fork, std::span(tokens).first(7)).Add(cache, std::span(tokens).first(40)), workspace));
  look(cache), look(fork);
  if (small.layout.moves_tokens()) {
    REQUIRE(cache.Erase(0, 50));
    REQUIRE(model.Forward(cache, std::span(tokens).first(5), workspace));
    look(cache);
  }
  REQUIRE(fork.Truncate(150));
  REQUIRE(model.Forward(fork, std::span(tokens).first(3), workspace));
  look(fork);
  return all;
}

SKALD_LAW("no byte of a conversation is a trace of the blocks' last owner", small) {
  const RandomModel model(small, 7);
  CHECK(HoldConversations(model, std::byte{0xA5}) == HoldConversations(model, std::byte{0x3C}));
}

}  // namespace used_blocks_test
}  // namespace skald::testing
