// SPDX-License-Identifier: Apache-2.0
//
// FloatEnvironment: while an object lives, its thread computes by the arithmetic contract (R6), whatever the caller has
// set: rounding to nearest, denormals as zero, no exception trapped. The destructor restores the thread's state, flags
// included. AMX always treats denormals as zero, and they slow other units down a hundredfold. Code outside of kernels
// keeps denormals.

#ifndef SKALD_BASE_THREADS_FLOAT_ENVIRONMENT_H_
#define SKALD_BASE_THREADS_FLOAT_ENVIRONMENT_H_

#include <cstdint>

namespace skald {

enum class Denormals { kAsZero, kKept };

class FloatEnvironment {
 public:
  /// Saves the thread's state and sets that of the contract; kKept: with denormals.
  explicit FloatEnvironment(Denormals denormals = Denormals::kAsZero);
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  static uint64_t Read();
  static void Write(uint64_t value);

  const uint64_t saved_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/float_environment.h"
#endif

#endif  // SKALD_BASE_THREADS_FLOAT_ENVIRONMENT_H_
