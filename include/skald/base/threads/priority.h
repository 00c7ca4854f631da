// SPDX-License-Identifier: Apache-2.0
//
// Priorities of threads: work that others wait for goes before work beside it, where processors do not do for both.

#ifndef SKALD_BASE_THREADS_PRIORITY_H_
#define SKALD_BASE_THREADS_PRIORITY_H_

namespace skald {

/// The calling thread has a small part of the processor time where threads that have not called this want it, and all
/// that is free otherwise. Only Linux has a priority for each thread; elsewhere nothing changes.
void LowerThreadPriority() noexcept;

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/priority.h"
#endif

#endif  // SKALD_BASE_THREADS_PRIORITY_H_
