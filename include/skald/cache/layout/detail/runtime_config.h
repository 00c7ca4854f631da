// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/layout/runtime_config.h.

#ifndef SKALD_CACHE_LAYOUT_DETAIL_RUNTIME_CONFIG_H_
#define SKALD_CACHE_LAYOUT_DETAIL_RUNTIME_CONFIG_H_

#include "skald/cache/layout/runtime_config.h"

#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

SKALD_INLINE Result<void> CheckRuntimeConfig(const RuntimeConfig& runtime) {
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
    if (runtime.max_resume_points == 0 && runtime.resume_point_every != 0) {
      return refuse("max_resume_points is 0 although resume_point_every asks for resume points");
    }
    if (runtime.rewind_tokens > kMaxTokens) {
      return refuse("rewind_tokens is " + std::to_string(runtime.rewind_tokens) + ", expected at most " +
                    std::to_string(kMaxTokens));
    }
    return {};
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_LAYOUT_DETAIL_RUNTIME_CONFIG_H_
