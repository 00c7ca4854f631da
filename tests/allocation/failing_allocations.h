// SPDX-License-Identifier: Apache-2.0
//
// Memory that runs out when a test wants it to: this executable's operator new and delete are those of
// failing_allocations.cc, which count, and fail on request.

#ifndef SKALD_TESTS_ALLOCATION_FAILING_ALLOCATIONS_H_
#define SKALD_TESTS_ALLOCATION_FAILING_ALLOCATIONS_H_

#include <cstddef>

namespace skald::testing {

enum class Failing { kOnce, kFromThenOn };

// While it lives, allocation number `first` (from 0, of all threads together) finds no memory: it alone, or all that
// follow too. At most one at a time.
class FailingAllocations {
 public:
  FailingAllocations(size_t first, Failing failing);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // Whether there was an allocation of that number.
  bool reached() const;
};

// Allocations not yet freed.
size_t LiveAllocations();

}  // namespace skald::testing

#endif  // SKALD_TESTS_ALLOCATION_FAILING_ALLOCATIONS_H_
