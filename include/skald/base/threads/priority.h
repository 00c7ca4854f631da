// SPDX-License-Identifier: Apache-2.0
//
// Priorities of threads: if processors are scarce, work that others wait for goes before background work.

#ifndef SKALD_BASE_THREADS_PRIORITY_H_
#define SKALD_BASE_THREADS_PRIORITY_H_

namespace skald {

/// Lowers the priority of the calling thread: it gets a small part of the processor time while threads of normal
/// priority want it, and all free time otherwise. Linux, macOS and Windows have a priority for each thread; on other
/// systems nothing changes.
void LowerThreadPriority() noexcept;

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/priority.h"
#endif

#endif  // SKALD_BASE_THREADS_PRIORITY_H_
