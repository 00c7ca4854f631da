// SPDX-License-Identifier: Apache-2.0
//
// A file system that fails when a test wants it to: this executable's open, read, write and the like are those of
// failing_calls.cc, which call the system's own, or do not.

#ifndef SKALD_TESTS_SYSTEM_CALLS_FAILING_CALLS_H_
#define SKALD_TESTS_SYSTEM_CALLS_FAILING_CALLS_H_

#include <cstddef>
#include <cstdint>

namespace skald::testing {

enum class Fault {
  kError,      // the call fails, for one of the reasons that it can have, in turn
  kInterrupt,  // a signal interrupts it
  kShort,      // it reads or writes less than it could
};

// Which calls of those that the fault can befall (from 0).
struct FaultPlan {
  Fault fault = Fault::kError;
  size_t first = 0;
  size_t count = 1;
  uint32_t one_in = 1;  // of those, each with this probability
  uint32_t seed = 0;    // for another reason, another length, other calls
};

inline constexpr size_t kForGood = ~size_t{0};

// While it lives, calls go as planned. At most one at a time, and for calls of one thread.
class FailingCalls {
 public:
  explicit FailingCalls(const FaultPlan& plan);
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  // Whether any call came as late as the first of the plan.
  bool reached() const;
};

// Descriptors that the process has open.
size_t OpenDescriptors();

}  // namespace skald::testing

#endif  // SKALD_TESTS_SYSTEM_CALLS_FAILING_CALLS_H_
