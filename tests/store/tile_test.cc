// SPDX-License-Identifier: Apache-2.0
//
// Tiles carry a block's content from one block size to another and lose nothing. They are part of cache/; they are
// tested here because only snapshots use them.

#include "skald/cache/layout/tile.h"
#include "skald/base/numbers/bf16.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "doctest/doctest.h"

namespace skald::testing {
namespace tile_test {

constexpr size_t kTokens = 256;  // a whole number of blocks of any size here

CacheGroup Group(uint32_t head_dim) { return {.layers = 2, .kv_heads = 3, .head_dim = head_dim}; }

// The keys and values of kTokens tokens in blocks of one size, addressed as attention addresses them.
template <class T>
class Blocks {
 public:
  Blocks(const CacheGroup& group, size_t block_tokens)
      : geometry(BlockGeometry::Of(group, block_tokens, kDTypeOf<T>)),
        bytes(kTokens / block_tokens, std::vector<std::byte>(geometry.block_bytes())) {}

  T& Key(size_t layer, size_t head, size_t token, size_t k) {
    const size_t padded_dim = RoundUp(geometry.head_dim, kTile), slot = token % geometry.block_tokens;
    T* const keys = At(token, geometry.KeyOffset(layer)) + head * geometry.block_tokens * padded_dim;
    return keys[PackedIndex<T>(slot, k, padded_dim)];
  }
  T& Value(size_t layer, size_t head, size_t token, size_t row) {
    const size_t rows = RoundUp(geometry.head_dim, kLanes), slot = token % geometry.block_tokens;
    T* const values = At(token, geometry.ValueOffset(layer)) + head * rows * geometry.block_tokens;
    return values[PackedIndex<T>(row, slot, geometry.block_tokens)];
  }
  // Of the key, or else of the value; only where T are codes.
  float& Scale(bool of_key, size_t layer, size_t head, size_t token) {
    std::byte* const block = bytes[token / geometry.block_tokens].data();
    const size_t offset = of_key ? geometry.KeyScaleOffset(layer) : geometry.ValueScaleOffset(layer);
    float* const scales = reinterpret_cast<float*>(block + offset);
    return scales[head * geometry.block_tokens + token % geometry.block_tokens];
  }

  BlockGeometry geometry;
  std::vector<std::vector<std::byte>> bytes;

 private:
  T* At(size_t token, size_t offset) {
    return reinterpret_cast<T*>(bytes[token / geometry.block_tokens].data() + offset);
  }
};

// Calls function(token, a number of its key or value in `a`, the same in `b`) for every element, padding included, and
// every scale.
template <class T, class Function>
void ForEachElement(Blocks<T>& a, Blocks<T>& b, Function function) {
  for (size_t layer = 0; layer < a.geometry.layers; ++layer) {
    for (size_t head = 0; head < a.geometry.kv_heads; ++head) {
      for (size_t token = 0; token < kTokens; ++token) {
        for (size_t k = 0; k < RoundUp(a.geometry.head_dim, kTile); ++k) {
          function(token, a.Key(layer, head, token, k), b.Key(layer, head, token, k));
        }
        for (size_t row = 0; row < RoundUp(a.geometry.head_dim, kLanes); ++row) {
          function(token, a.Value(layer, head, token, row), b.Value(layer, head, token, row));
        }
        if (!std::is_same_v<T, int8_t>) continue;
        for (const bool of_key : {false, true}) {
          function(token, a.Scale(of_key, layer, head, token), b.Scale(of_key, layer, head, token));
        }
      }
    }
  }
}

// Gives every element a value of its own, as far as its bits allow.
template <class T>
Blocks<T> Filled(const CacheGroup& group, size_t block_tokens) {
  Blocks<T> blocks(group, block_tokens);
  uint32_t next = 1;
  ForEachElement(blocks, blocks, [&next](size_t, auto& element, auto&) {
    const uint32_t bits = next++ * 2654435761u | 1u;
    std::memcpy(&element, &bits, sizeof element);
  });
  return blocks;
}

template <class T>
bool Same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

TEST_CASE_TEMPLATE("tiles keep every element from any block size to any other", T, float, bf16, int8_t) {
  constexpr DType kType = kDTypeOf<T>;
  for (const uint32_t head_dim : {7u, 24u, 33u, 64u}) {
    const BlockGeometry tile = TileGeometry(Group(head_dim), kType);
    for (const size_t from_tokens : {32u, 64u, 256u}) {
      Blocks<T> from = Filled<T>(Group(head_dim), from_tokens);
      for (const size_t to_tokens : {32u, 64u, 256u}) {
        Blocks<T> to(Group(head_dim), to_tokens);
        std::vector<std::byte> bytes(tile.block_bytes());
        for (size_t token = 0; token < kTokens; token += kTile) {
          const std::byte* const source = from.bytes[token / from_tokens].data();
          ReadTile(from.geometry, tile, kType, token % from_tokens, source, bytes.data());
          WriteTile(to.geometry, tile, kType, token % to_tokens, bytes.data(), to.bytes[token / to_tokens].data());
        }
        size_t differing = 0;
        ForEachElement(from, to, [&](size_t, auto& a, auto& b) { differing += !Same(a, b); });
        CAPTURE(head_dim);
        CAPTURE(from_tokens);
        CAPTURE(to_tokens);
        CHECK(differing == 0);
      }
    }
  }
}

TEST_CASE_TEMPLATE("a block of kTile tokens is its own tile", T, float, bf16, int8_t) {
  constexpr DType kType = kDTypeOf<T>;
  const Blocks<T> blocks = Filled<T>(Group(24), kTile);
  std::vector<std::byte> bytes(blocks.geometry.block_bytes());
  ReadTile(blocks.geometry, TileGeometry(Group(24), kType), kType, 0, blocks.bytes[0].data(), bytes.data());
  CHECK(bytes == blocks.bytes[0]);
}

TEST_CASE_TEMPLATE("clearing tokens of a tile clears these tokens and no others", T, float, bf16, int8_t) {
  constexpr DType kType = kDTypeOf<T>;
  struct Range {
    size_t begin, end;
  };
  for (const uint32_t head_dim : {7u, 33u}) {
    const BlockGeometry tile = TileGeometry(Group(head_dim), kType);
    for (const auto [begin, end] : {Range{0, 0}, {0, 1}, {0, 15}, {1, 2}, {15, 17}, {31, 32}, {5, 32}, {0, 32}}) {
      Blocks<T> before = Filled<T>(Group(head_dim), kTile), after = before;
      const size_t last = after.bytes.size() - 1;  // tile number `last` holds tokens from last * kTile on
      ClearTileTokens(tile, kType, begin, end, after.bytes[last].data());
      size_t wrong = 0;
      ForEachElement(before, after, [&, b = begin, e = end](size_t token, auto& was, auto& is) {
        const bool cleared = token >= last * kTile + b && token < last * kTile + e;
        wrong += cleared ? !Same(is, std::remove_reference_t<decltype(is)>{}) : !Same(was, is);
      });
      CAPTURE(begin);
      CAPTURE(end);
      CHECK(wrong == 0);
    }
  }
}

}  // namespace tile_test
}  // namespace skald::testing
