// SPDX-License-Identifier: Apache-2.0
//
// RuntimeConfig: what the caller chooses for caches, as against what a model is (its Config). Plain data; the
// factories check it and name the member that is wrong.

#ifndef SKALD_CACHE_FORM_RUNTIME_CONFIG_H_
#define SKALD_CACHE_FORM_RUNTIME_CONFIG_H_

#include <cstdint>
#include <limits>
#include <string>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/result.h"

namespace skald {

inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// Largest token limit: positions are 32 bits wide and edits need signed differences of them.
inline constexpr uint32_t kMaxTokens = 1u << 30;

struct RuntimeConfig {
  // Tokens that one conversation may hold.
  uint32_t max_tokens = 8192;
  // Bytes that all blocks of one pool may take together.
  uint64_t cache_bytes = kUnlimited;
  // Element type of cached keys and values: kF32, kBF16, or kI8 with a scale for each token and head, which takes a
  // little over half of kBF16's memory and rounds more.
  DType kv_type = DType::kBF16;
  // Tokens per block of the cache; a multiple of 32. Changes memory granularity, never a result.
  uint32_t block_tokens = 64;
  // A resume point is kept every so many tokens; 0 keeps none beyond what the blocks themselves allow.
  uint32_t checkpoint_every = 0;
  // Resume points kept per conversation; the oldest goes first, also to make room for new tokens.
  uint32_t max_checkpoints = 8;
  // Tokens that can always be taken back, as when drafted tokens are rejected. Costs recurrent layers one state for
  // each token, or, where states are large, one state and up to four tokens' inputs for each; the next step replays
  // these from there. Attention needs nothing, windows a little.
  uint32_t rewind_tokens = 0;
};

// Returns an error that names the first member of `runtime` that cannot work.
inline Result<void> CheckRuntimeConfig(const RuntimeConfig& runtime) {
  return NoThrow("RuntimeConfig", [&]() -> Result<void> {
    const auto refuse = [](const std::string& what) {
      return Fail(ErrorCode::kInvalidArgument, "RuntimeConfig::" + what);
    };
    if (runtime.max_tokens == 0 || runtime.max_tokens > kMaxTokens) {
      return refuse("max_tokens is " + std::to_string(runtime.max_tokens) + ", expected 1 to " +
                    std::to_string(kMaxTokens));
    }
    if (runtime.cache_bytes == 0) return refuse("cache_bytes is 0, expected a positive number of bytes");
    if (runtime.kv_type != DType::kF32 && runtime.kv_type != DType::kBF16 && runtime.kv_type != DType::kI8) {
      return refuse("kv_type is " + std::string(NameOf(runtime.kv_type)) + ", expected F32, BF16 or I8");
    }
    if (runtime.block_tokens == 0 || runtime.block_tokens % kTile != 0 || runtime.block_tokens > kMaxTokens) {
      return refuse("block_tokens is " + std::to_string(runtime.block_tokens) + ", expected a positive multiple of " +
                    std::to_string(kTile));
    }
    if (runtime.max_checkpoints == 0 && runtime.checkpoint_every != 0) {
      return refuse("max_checkpoints is 0 although checkpoint_every asks for resume points");
    }
    if (runtime.rewind_tokens > kMaxTokens) {
      return refuse("rewind_tokens is " + std::to_string(runtime.rewind_tokens) + ", expected at most " +
                    std::to_string(kMaxTokens));
    }
    return {};
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_FORM_RUNTIME_CONFIG_H_
