// SPDX-License-Identifier: Apache-2.0
//
// Blocks of cached keys and values for one sequence, for kernel tests: written by the kernel under test, readable
// element by element.

#ifndef SKALD_TESTS_SUPPORT_CACHED_SEQUENCE_H_
#define SKALD_TESTS_SUPPORT_CACHED_SEQUENCE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/kernels.h"

namespace skald::testing {

// Bytes of the scales of one head's keys or values.
template <class T>
size_t ScaleBytes(size_t block_tokens) {
  return std::is_same_v<T, int8_t> ? block_tokens * sizeof(float) : 0;
}

// Returns a geometry with room for one more layer before, between and after this one's keys and values.
template <class T>
KVGeometry SpaciousGeometry(size_t kv_heads, size_t head_dim, size_t block_tokens, size_t latent_dim = 0) {
  const size_t key_bytes = kv_heads * (sizeof(T) * PackedSize(block_tokens, head_dim) + ScaleBytes<T>(block_tokens));
  return {.kv_heads = kv_heads,
          .head_dim = head_dim,
          .block_tokens = block_tokens,
          .key_offset = 64,
          .value_offset = 64 + key_bytes + 128,
          .latent_dim = latent_dim};
}

template <class T>
class CachedSequence {
 public:
  // Blocks [first_block, enough for `tokens`), all bytes `fill`: with 0xFF every element that is not written is NaN.
  CachedSequence(const KVGeometry& geometry, size_t tokens, size_t first_block = 0, int fill = 0xFF)
      : geometry_(geometry), first_block_(first_block) {
    const size_t end = (tokens + geometry.block_tokens - 1) / geometry.block_tokens;
    for (size_t i = first_block; i < end; ++i) {
      AlignedBuffer<std::byte> block(BlockBytes());
      std::memset(block.data(), fill, block.size());
      blocks_.push_back(std::move(block));
      pointers_.push_back(blocks_.back().data());
    }
  }

  size_t BlockBytes() const {
    const size_t of_head = sizeof(T) * PackedSize(geometry_.head_dim, geometry_.block_tokens);
    return geometry_.value_offset + geometry_.kv_heads * (of_head + ScaleBytes<T>(geometry_.block_tokens)) + 64;
  }
  const KVGeometry& geometry() const { return geometry_; }
  KVBlocks table() const { return {.blocks = pointers_.data(), .first_block = first_block_}; }
  std::byte* block(size_t i) { return pointers_[i - first_block_]; }

  // Writes positions [begin, end); `keys` and `values` are [positions, kv_heads * head_dim] from position 0 on.
  void Store(const std::vector<float>& keys, const std::vector<float>& values, size_t begin, size_t end) {
    const KVBlocks blocks = table();
    const size_t stride = geometry_.kv_heads * geometry_.head_dim;
    std::vector<uint32_t> positions, sequences(end - begin, 0);
    for (size_t p = begin; p < end; ++p) positions.push_back(static_cast<uint32_t>(p));
    Kernels<>::StoreKV<T>({.keys = keys.data() + begin * stride,
                           .values = values.data() + begin * stride,
                           .stride = stride,
                           .positions = positions.data(),
                           .sequences = sequences.data(),
                           .tables = &blocks,
                           .geometry = geometry_,
                           .row_begin = 0,
                           .row_end = end - begin});
  }

  float Key(size_t position, size_t head, size_t d) {
    const size_t size = PackedSize(geometry_.block_tokens, geometry_.head_dim);
    const size_t padded = RoundUp(geometry_.head_dim, kTile);
    return Element(position, geometry_.key_offset, size, head,
                   PackedIndex<T>(position % geometry_.block_tokens, d, padded));
  }
  float Value(size_t position, size_t head, size_t d) {
    const size_t size = RoundUp(geometry_.head_dim, kLanes) * geometry_.block_tokens;
    return Element(position, geometry_.value_offset, size, head,
                   PackedIndex<T>(d, position % geometry_.block_tokens, geometry_.block_tokens));
  }

 private:
  // Of matrices of `size` elements for each head.
  float Element(size_t position, size_t offset, size_t size, size_t head, size_t index) {
    const T* const matrices = reinterpret_cast<const T*>(block(position / geometry_.block_tokens) + offset);
    const float element = ToFloat(matrices[head * size + index]);
    if constexpr (!std::is_same_v<T, int8_t>) return element;
    const auto* const scales = reinterpret_cast<const float*>(matrices + geometry_.kv_heads * size);
    return element * scales[head * geometry_.block_tokens + position % geometry_.block_tokens];
  }

  KVGeometry geometry_;
  size_t first_block_;
  std::vector<AlignedBuffer<std::byte>> blocks_;
  std::vector<std::byte*> pointers_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_CACHED_SEQUENCE_H_
