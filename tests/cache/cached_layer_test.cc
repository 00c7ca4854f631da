// SPDX-License-Identifier: Apache-2.0
//
// CachedLayer: keys, values and states are read from where a cache keeps them, and stay as they were.

#include <cstring>
#include <numeric>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/cache/cached_layer.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace cached_layer_test {

constexpr size_t kBlock = 32, kHeads = 2, kDim = 4;

float KeyOf(size_t token, size_t head, size_t k) { return static_cast<float>(64 * head + token % 8 * 8 + k); }

// Writes keys of which each number tells its place, and values that are their negatives.
template <class T>
void Fill(KVCache& cache, uint32_t group) {
  BlockPool& pool = *cache.pool();
  const BlockGeometry& g = pool.geometry(group);
  const auto& table = cache.table().groups[group];
  for (size_t i = 0; i < table.blocks.size(); ++i) {
    std::byte* const block = pool.ResolveOne(group, table.blocks[i]);
    for (size_t t = 0; t < kBlock; ++t) {
      const size_t token = table.first_token / kBlock * kBlock + i * kBlock + t;
      for (size_t head = 0; head < kHeads; ++head) {
        for (size_t k = 0; k < kDim; ++k) {
          const size_t key = head * PackedSize(kBlock, kDim) + PackedIndex<T>(t, k, kTile);
          const size_t value = head * PackedSize(kDim, kBlock) + PackedIndex<T>(k, t, kTile);
          reinterpret_cast<T*>(block)[key] = FromFloat<T>(KeyOf(token, head, k));
          reinterpret_cast<T*>(block + g.ValueOffset(0))[value] = FromFloat<T>(-KeyOf(token, head, k));
        }
      }
    }
  }
}

template <class T>
void CheckKeysAndValues() {
  KVCache cache = *CreateKVCache(ToyLayout(40), {.kv_type = kDTypeOf<T>, .block_tokens = kBlock});
  std::vector<int32_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  REQUIRE(ToyForward(cache, tokens));
  Fill<T>(cache, 1);
  const CachedLayer state = *CachedLayer::Of(cache, 1);
  CHECK(state.first_token() + state.tokens() == 100);
  CHECK(state.tokens() >= 40);
  CHECK(state.state().empty());
  cache.Clear();  // the state stays
  for (size_t head = 0; head < kHeads; ++head) {
    const auto keys = *state.Keys(head), values = *state.Values(head);
    REQUIRE(keys.size() == state.tokens() * kDim);
    for (size_t i = 0; i < keys.size(); ++i) {
      CHECK(keys[i] == KeyOf(state.first_token() + i / kDim, head, i % kDim));
      CHECK(values[i] == -keys[i]);
    }
  }
  CHECK(state.Keys(kHeads).error().code == ErrorCode::kOutOfRange);
}

TEST_CASE("keys and values are read as floats, block by block") {
  CheckKeysAndValues<float>();
  CheckKeysAndValues<bf16>();
}

TEST_CASE("a recurrent layer's state is read, and edits are refused until they are carried out") {
  KVCache cache = *CreateKVCache(ToyLayout(0, /*recurrent=*/true), {.block_tokens = kBlock});
  CHECK(CachedLayer::Of(cache, 1)->state().empty());
  REQUIRE(ToyForward(cache, {1, 2, 3}));
  const CachedLayer state = *CachedLayer::Of(cache, 1);
  REQUIRE(state.state().size() == 5);
  const uint64_t expected = ToyState(cache.tokens());
  CHECK(std::memcmp(state.state().data(), &expected, sizeof(expected)) == 0);
  CHECK(state.Keys(0).error().code == ErrorCode::kUnsupported);
  CHECK(CachedLayer::Of(cache, 2).error().code == ErrorCode::kOutOfRange);

  KVCache edited = *CreateKVCache(ToyLayout(0), {.block_tokens = kBlock});
  REQUIRE(ToyForward(edited, {1, 2, 3}));
  REQUIRE(edited.Erase(0, 1));
  CHECK(CachedLayer::Of(edited, 0).error().code == ErrorCode::kFailedPrecondition);
}

}  // namespace cached_layer_test
}  // namespace skald::testing
