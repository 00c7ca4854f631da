// SPDX-License-Identifier: Apache-2.0
//
// RuntimeConfig: the caller's choices for caches, as opposed to the model's properties (its Config). Plain data; the
// factories check it and name the invalid member.

#ifndef SKALD_CACHE_LAYOUT_RUNTIME_CONFIG_H_
#define SKALD_CACHE_LAYOUT_RUNTIME_CONFIG_H_

#include <cstdint>
#include <limits>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"

namespace skald {

inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

/// Largest token limit: positions are 32 bits wide and edits need signed differences of them.
inline constexpr uint32_t kMaxTokens = 1u << 30;

struct RuntimeConfig {
  /// Tokens that one conversation may hold; at most the model's longest text (LongestText of a ModelSpec).
  uint32_t max_tokens = 8192;
  /// Bytes that all blocks of one pool may take together.
  uint64_t cache_bytes = kUnlimited;
  /// Element type of cached keys and values: kF32, kBF16, or kI8 with a scale for each token and head, which takes a
  /// little over half of kBF16's memory and rounds more.
  DType kv_type = DType::kBF16;
  /// Tokens per block of the cache; a multiple of 32. Changes memory granularity, never a result.
  uint32_t block_tokens = 64;
  /// A resume point is kept every so many tokens; with 0 only those that the blocks themselves allow.
  uint32_t resume_point_every = 0;
  /// Resume points kept per conversation; the oldest is dropped first, also to make room for new tokens.
  uint32_t max_resume_points = 8;
  /// Tokens that can always be taken back, for example when drafted tokens are rejected. Costs recurrent layers one
  /// state for each token. Layers with large states instead keep one state and up to four tokens' inputs for each; the
  /// next step replays these. Attention needs no extra memory, windows a little.
  uint32_t rewind_tokens = 0;
};

/// Returns an error that names the first invalid member of `runtime`.
Result<void> CheckRuntimeConfig(const RuntimeConfig& runtime);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/layout/detail/runtime_config.h"
#endif

#endif  // SKALD_CACHE_LAYOUT_RUNTIME_CONFIG_H_
