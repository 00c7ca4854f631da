// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/load_options.h.

#ifndef SKALD_WEIGHTS_DETAIL_LOAD_OPTIONS_H_
#define SKALD_WEIGHTS_DETAIL_LOAD_OPTIONS_H_

#include "skald/weights/load_options.h"

#include <string>

#include "skald/base/inline.h"
#include "skald/base/threads/thread_pool.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<void> CheckLoadOptions(const LoadOptions& options) {
  if (!IsWeightType(options.dtype)) {
    return Fail(ErrorCode::kUnsupported,
                "LoadOptions::dtype: expected any type but kF16 (for files only) and kI8 (for caches only)");
  }
  if (options.share.rank >= options.share.ranks) {
    return Fail(ErrorCode::kInvalidArgument, "LoadOptions::share: expected a rank below their number");
  }
  if (options.threads >= 1 && options.threads <= kMaxThreads) return {};
  return Fail(ErrorCode::kInvalidArgument, "LoadOptions::threads: expected 1 to " + std::to_string(kMaxThreads));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_LOAD_OPTIONS_H_
