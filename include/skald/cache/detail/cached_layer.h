// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/cached_layer.h.

#ifndef SKALD_CACHE_DETAIL_CACHED_LAYER_H_
#define SKALD_CACHE_DETAIL_CACHED_LAYER_H_

#include "skald/cache/cached_layer.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/cache/blocks/block_pool.h"

namespace skald {

namespace internal {

// An element of packed keys or values, of type T.
template <class T>
float PackedNumber(const std::byte* matrix, size_t n, size_t k, size_t padded_k) {
  return ToFloat(reinterpret_cast<const T*>(matrix)[PackedIndex<T>(n, k, padded_k)]);
}

inline float PackedNumber(DType type, const std::byte* matrix, size_t n, size_t k, size_t padded_k) {
  if (type == DType::kF32) return PackedNumber<float>(matrix, n, k, padded_k);
  if (type == DType::kI8) return PackedNumber<int8_t>(matrix, n, k, padded_k);
  return PackedNumber<bf16>(matrix, n, k, padded_k);
}

inline float ScaleOf(DType type, const std::byte* scales, size_t index) {
  return type == DType::kI8 ? reinterpret_cast<const float*>(scales)[index] : 1.0f;
}

}  // namespace internal

SKALD_INLINE Result<CachedLayer> CachedLayer::Of(const KVCache& cache, size_t layer) {
  return NoThrow("CachedLayer::Of", [&]() -> Result<CachedLayer> {
    SKALD_ASSIGN(auto fork, cache.Fork());
    BlockPool& pool = *fork.pool();
    if (!pool.has_bytes()) return BlockPool::FailNoBytes();
    const auto slots = pool.layout().layers();
    if (layer >= slots.size()) {
      return Fail(ErrorCode::kOutOfRange, "CachedLayer::Of: the cache has " + std::to_string(slots.size()) +
                                              " layers with state, so there is none with number " +
                                              std::to_string(layer));
    }
    const LayerSlot slot = slots[layer];
    CachedLayer state(std::move(fork));
    state.group_ = &pool.layout().groups()[slot.group];
    state.geometry_ = &pool.geometry(slot.group);
    const BlockTable& table = state.cache_.table();
    const GroupTable& blocks = table.groups[slot.group];
    const bool is_replayed = state.group_->is_replayed() && table.tokens > 0 && !HasPresentState(blocks, table.tokens);
    if (!table.edits.empty() || is_replayed) {
      return Fail(ErrorCode::kFailedPrecondition,
                  "CachedLayer::Of: the cache was edited or rewound, which its next step carries out");
    }
    const size_t offset = state.geometry_->KeyOffset(slot.index);
    if (state.group_->is_recurrent()) {
      if (!blocks.blocks.empty()) {
        state.blocks_.push_back({table.tokens, 0, pool.ResolveOne(slot.group, blocks.blocks.back()) + offset});
      }
      return state;
    }
    const uint32_t size = pool.runtime().block_tokens;
    for (size_t i = 0; i < blocks.blocks.size(); ++i) {
      const auto number = static_cast<uint32_t>(blocks.first_token / size + i);
      const uint32_t begin = std::max(number * size, blocks.first_token);
      const uint32_t end = std::min((number + 1) * size, table.tokens);
      if (end <= begin) continue;
      state.blocks_.push_back({begin, end - begin, pool.ResolveOne(slot.group, blocks.blocks[i]) + offset});
    }
    return state;
  });
}

SKALD_INLINE std::span<const float> CachedLayer::state() const {
  if (!group_->is_recurrent() || blocks_.empty()) return {};
  return {reinterpret_cast<const float*>(blocks_.back().bytes), group_->state_floats};
}

SKALD_INLINE Result<void> CachedLayer::CheckHead(const char* call, size_t kv_head) const {
  if (!group_->is_attention()) {
    return Fail(ErrorCode::kUnsupported, std::string(call) + ": the layer is recurrent, and keeps no keys and values");
  }
  if (kv_head < geometry_->kv_heads) return {};
  return Fail(ErrorCode::kOutOfRange, std::string(call) + ": the layer has " + std::to_string(geometry_->kv_heads) +
                                          " kv heads, so there is none with number " + std::to_string(kv_head));
}

SKALD_INLINE Result<std::vector<float>> CachedLayer::Keys(size_t kv_head) const {
  return NoThrow("CachedLayer::Keys", [&]() -> Result<std::vector<float>> {
    SKALD_TRY(CheckHead("CachedLayer::Keys", kv_head));
    const BlockGeometry& g = *geometry_;
    const size_t padded = RoundUp(g.head_dim, kTile);
    std::vector<float> keys(size_t{tokens()} * g.head_dim);
    float* out = keys.data();
    for (const Block& block : blocks_) {
      const std::byte* head = block.bytes + kv_head * PackedSize(g.block_tokens, g.head_dim) * SizeOf(type());
      const uint32_t first = block.first_token % static_cast<uint32_t>(g.block_tokens);
      for (uint32_t t = first; t < first + block.tokens; ++t) {
        const float scale = internal::ScaleOf(type(), block.bytes + g.KeyScaleOffset(0), kv_head * g.block_tokens + t);
        for (size_t k = 0; k < g.head_dim; ++k) {
          *out++ = internal::PackedNumber(type(), head, t, k, padded) * scale;
        }
      }
    }
    return keys;
  });
}

SKALD_INLINE Result<std::vector<float>> CachedLayer::Values(size_t kv_head) const {
  return NoThrow("CachedLayer::Values", [&]() -> Result<std::vector<float>> {
    SKALD_TRY(CheckHead("CachedLayer::Values", kv_head));
    const BlockGeometry& g = *geometry_;
    if (g.latent_dim != 0) {
      SKALD_ASSIGN(const auto keys, Keys(kv_head));
      std::vector<float> values;
      for (size_t t = 0; t < tokens(); ++t) {
        const auto end = keys.begin() + static_cast<std::ptrdiff_t>((t + 1) * g.head_dim);
        values.insert(values.end(), end - static_cast<std::ptrdiff_t>(g.latent_dim), end);
      }
      return values;
    }
    const size_t padded = RoundUp(g.block_tokens, kTile);
    std::vector<float> values(size_t{tokens()} * g.head_dim);
    float* out = values.data();
    for (const Block& block : blocks_) {
      const std::byte* head =
          block.bytes + g.ValueOffset(0) + kv_head * PackedSize(g.head_dim, g.block_tokens) * SizeOf(type());
      const uint32_t first = block.first_token % static_cast<uint32_t>(g.block_tokens);
      for (uint32_t t = first; t < first + block.tokens; ++t) {
        const float scale =
            internal::ScaleOf(type(), block.bytes + g.ValueScaleOffset(0), kv_head * g.block_tokens + t);
        for (size_t k = 0; k < g.head_dim; ++k) {
          *out++ = internal::PackedNumber(type(), head, k, t, padded) * scale;
        }
      }
    }
    return values;
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_DETAIL_CACHED_LAYER_H_
