// SPDX-License-Identifier: Apache-2.0
//
// Calls of the system that the definitions of this room need.

#ifndef SKALD_BASE_THREADS_DETAIL_SYSTEM_H_
#define SKALD_BASE_THREADS_DETAIL_SYSTEM_H_

#include <cstdint>

namespace skald::internal {

/// Tells a process from those that it forks; 0 where no process forks.
int64_t ProcessNumber();

/// Does nothing if the system refuses: the thread works at its old priority too.
void LowerPriorityOfThisThread() noexcept;

}  // namespace skald::internal

#if defined(_WIN32)
#include "skald/base/threads/detail/windows/system.h"
#else
#include "skald/base/threads/detail/posix/system.h"
#endif

#endif  // SKALD_BASE_THREADS_DETAIL_SYSTEM_H_
