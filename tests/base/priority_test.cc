// SPDX-License-Identifier: Apache-2.0

#include "skald/base/threads/priority.h"

#include <algorithm>
#include <thread>

#include "doctest/doctest.h"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace skald::testing {
namespace priority_test {

int OfThisThread() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }

TEST_CASE("a thread lowers its own priority, and no other's") {
  const int before = OfThisThread();
  int lowered = 0;
  std::thread([&] {
    LowerThreadPriority();
    lowered = OfThisThread();
  }).join();
  CHECK(lowered >= std::min(before + 5, 19));
  CHECK(OfThisThread() == before);
}

}  // namespace priority_test
}  // namespace skald::testing
#endif
