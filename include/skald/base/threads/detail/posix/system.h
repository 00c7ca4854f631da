// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/detail/system.h on POSIX systems.

#ifndef SKALD_BASE_THREADS_DETAIL_POSIX_SYSTEM_H_
#define SKALD_BASE_THREADS_DETAIL_POSIX_SYSTEM_H_

#include <unistd.h>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

#include <cstdint>

namespace skald::internal {

inline int64_t ProcessNumber() { return ::getpid(); }

inline void LowerPriorityOfThisThread() noexcept {
#if defined(__linux__)
  constexpr int kLower = 10;  // a tenth of the weight
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  (void)::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kLower);
#elif defined(__APPLE__)
  (void)::pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

}  // namespace skald::internal

#endif  // SKALD_BASE_THREADS_DETAIL_POSIX_SYSTEM_H_
