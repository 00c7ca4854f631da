// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/aligned_buffer.h.

#ifndef SKALD_BASE_DETAIL_ALIGNED_BUFFER_H_
#define SKALD_BASE_DETAIL_ALIGNED_BUFFER_H_

#include "skald/base/aligned_buffer.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE void AskForHugePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(__linux__)
  if (bytes >= kHugePage) ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_DETAIL_ALIGNED_BUFFER_H_
