// SPDX-License-Identifier: Apache-2.0
//
// CachedLayer: what a conversation keeps of one layer, for programs that study it: keys and values, or a recurrent
// layer's state, where they lie and as floats.

#ifndef SKALD_CACHE_CACHED_LAYER_H_
#define SKALD_CACHE_CACHED_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"

namespace skald {

/// Keeps a fork of the cache, and so the state as it was: what the cache does later changes nothing here. Safe for
/// concurrent reads.
class CachedLayer {
 public:
  /// A block of keys and values (BlockGeometry has the places of their parts), or one that holds a whole state.
  struct Block {
    uint32_t first_token;    ///< position of the first token that it has
    uint32_t tokens;         ///< that it has; of a state: those before it
    const std::byte* bytes;  ///< of the layer's part, at a multiple of 64 bytes
  };

  /// Returns the state of a layer, by its number among those that keep state (CacheLayout::layers). Errors: kOutOfRange
  /// for a number that there is not; kFailedPrecondition for a cache that was moved from, that has no bytes, or whose
  /// edits or replay wait for the next step; those of KVCache::Fork.
  static Result<CachedLayer> Of(const KVCache& cache, size_t layer);

  /// The group of the layer, which says what its state is.
  const CacheGroup& group() const { return *group_; }
  /// The places of parts in a block; offsets are those of layer 0.
  const BlockGeometry& geometry() const { return *geometry_; }
  /// Of keys and values.
  DType type() const { return cache_.pool()->runtime().kv_type; }

  /// Blocks of keys and values, ascending; of a recurrent layer the present state alone. None for 0 tokens.
  std::span<const Block> blocks() const { return blocks_; }
  /// Position of the first token whose keys and values are kept: 0, or the beginning of a window.
  uint32_t first_token() const { return blocks_.empty() ? 0 : blocks_.front().first_token; }
  /// Tokens whose keys and values are kept.
  uint32_t tokens() const { return blocks_.empty() ? 0 : cache_.size() - first_token(); }

  /// The state of a recurrent layer, [CacheGroup::state_floats]; empty for 0 tokens, and of other layers.
  std::span<const float> state() const;

  /// Returns keys of a kv head as floats, [tokens(), head_dim], as attention reads them: rotated to their positions.
  /// Errors: kUnsupported for a recurrent layer; kOutOfRange for a head that there is not; kResourceExhausted.
  Result<std::vector<float>> Keys(size_t kv_head) const;
  /// The same of values, [tokens(), head_dim], or [tokens(), CacheGroup::latent_dim] where they are elements of keys.
  Result<std::vector<float>> Values(size_t kv_head) const;

 private:
  explicit CachedLayer(KVCache cache) : cache_(std::move(cache)) {}

  Result<void> CheckHead(const char* call, size_t kv_head) const;

  KVCache cache_;
  const CacheGroup* group_ = nullptr;
  const BlockGeometry* geometry_ = nullptr;
  std::vector<Block> blocks_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/detail/cached_layer.h"
#endif

#endif  // SKALD_CACHE_CACHED_LAYER_H_
