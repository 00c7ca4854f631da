// SPDX-License-Identifier: Apache-2.0
//
// Runs work on a caller's workers if there are any, and on the calling thread otherwise.

#ifndef SKALD_BASE_THREADS_RUN_ON_H_
#define SKALD_BASE_THREADS_RUN_ON_H_

#include <cstddef>
#include <optional>

#include "skald/base/threads/executor.h"

namespace skald::internal {

/// Calls task(0) .. task(count - 1), which do not throw, on the available workers.
template <class Task>
void RunOn(const std::optional<ExecutorRef>& executor, size_t count, Task task) {
  if (executor && count > 1) return executor->Run(count, TaskRef(task));
  for (size_t i = 0; i < count; ++i) task(i);
}

inline size_t WorkersOf(const std::optional<ExecutorRef>& executor) { return executor ? executor->num_workers() : 1; }

}  // namespace skald::internal

#endif  // SKALD_BASE_THREADS_RUN_ON_H_
