// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/detail/system.h on Windows.

#ifndef SKALD_BASE_THREADS_DETAIL_WINDOWS_SYSTEM_H_
#define SKALD_BASE_THREADS_DETAIL_WINDOWS_SYSTEM_H_

#include <cstdint>
#include "skald/base/detail/windows_api.h"

namespace skald::internal {

inline int64_t ProcessNumber() { return 0; }

inline void LowerPriorityOfThisThread() noexcept {
  (void)::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL);
}

}  // namespace skald::internal

#endif  // SKALD_BASE_THREADS_DETAIL_WINDOWS_SYSTEM_H_
