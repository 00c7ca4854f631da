// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/priority.h.

#ifndef SKALD_BASE_THREADS_DETAIL_PRIORITY_H_
#define SKALD_BASE_THREADS_DETAIL_PRIORITY_H_

#include "skald/base/threads/priority.h"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void LowerThreadPriority() noexcept {
#if defined(__linux__)
  constexpr int kLower = 10;  // a tenth of the weight
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  // An error is ignored: the thread works at the old priority too.
  (void)::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kLower);
#endif
}

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_PRIORITY_H_
