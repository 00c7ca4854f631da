// SPDX-License-Identifier: Apache-2.0
//
// Allocations that fail when a test wants it. Replaces the program's operator new: include it in one file of a test
// program only.

#ifndef SKALD_TESTS_SUPPORT_FAILING_NEW_H_
#define SKALD_TESTS_SUPPORT_FAILING_NEW_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace skald::testing {

// How this thread's allocations fail.
struct AllocationPlan {
  int64_t until_failure = -1;  // allocations that work before one fails; below 0: none fails
  bool for_good = false;       // all later ones fail too
  int64_t failed = 0;
};
inline thread_local AllocationPlan allocation_plan;

// While one lives, the allocation after the next `after` of this thread fails; with `for_good` every later one too.
class FailingAllocations {
 public:
  explicit FailingAllocations(int64_t after, bool for_good = false) { allocation_plan = {after, for_good, 0}; }
  ~FailingAllocations() { allocation_plan = {}; }
  int64_t failed() const { return allocation_plan.failed; }
};

inline void* AllocateOrFail(size_t size, size_t alignment) {
  AllocationPlan& plan = allocation_plan;
  const bool fails = plan.until_failure == 0;
  if (plan.until_failure > 0 || (fails && !plan.for_good)) --plan.until_failure;
  plan.failed += fails;
  void* const memory = fails ? nullptr : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Calls attempt() with the first of its allocations failing, then with the second, and so on, until it needs no more.
// attempt() returns how many failed while it ran.
template <class Attempt>
void FailEachAllocation(Attempt attempt) {
  for (int64_t after = 0; attempt(after) > 0; ++after) {
  }
}

}  // namespace skald::testing

void* operator new(std::size_t size) { return skald::testing::AllocateOrFail(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return skald::testing::AllocateOrFail(size, static_cast<std::size_t>(alignment));
}
// The C++ library's calls the one above; that of the sanitizers does not.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// g++ 12 takes the functions it has inlined for the C++ library's.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif  // SKALD_TESTS_SUPPORT_FAILING_NEW_H_
