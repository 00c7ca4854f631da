// SPDX-License-Identifier: Apache-2.0
//
// RuntimeConfig: what the caller chooses for caches, as against what a model is (its Config). Plain data; the
// factories check it and name the member that is wrong.

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
  /// Tokens that one conversation may hold.
  uint32_t max_tokens = 8192;
  /// Bytes that all blocks of one pool may take together.
  uint64_t cache_bytes = kUnlimited;
  /// Element type of cached keys and values: kF32, kBF16, or kI8 with a scale for each token and head, which takes a
  /// little over half of kBF16's memory and rounds more.
  DType kv_type = DType::kBF16;
  /// Tokens per block of the cache; a multiple of 32. Changes memory granularity, never a result.
  uint32_t block_tokens = 64;
  /// A resume point is kept every so many tokens; 0 keeps none beyond what the blocks themselves allow.
  uint32_t resume_point_every = 0;
  /// Resume points kept per conversation; the oldest goes first, also to make room for new tokens.
  uint32_t max_resume_points = 8;
  /// Tokens that can always be taken back, as when drafted tokens are rejected. Costs recurrent layers one state for
  /// each token, or, where states are large, one state and up to four tokens' inputs for each; the next step replays
  /// these from there. Attention needs nothing, windows a little.
  uint32_t rewind_tokens = 0;
};

/// Returns an error that names the first member of `runtime` that cannot work.
Result<void> CheckRuntimeConfig(const RuntimeConfig& runtime);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/layout/detail/runtime_config.h"
#endif

#endif  // SKALD_CACHE_LAYOUT_RUNTIME_CONFIG_H_
