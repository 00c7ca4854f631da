// SPDX-License-Identifier: Apache-2.0
//
// FloatEnvironment: while an object lives, its thread computes by the arithmetic contract (R6), whatever the caller has
// set: rounding to nearest, denormals as zero, no exception trapped. The destructor restores the thread's state, flags
// included. AMX always treats denormals as zero, and they slow other units down a hundredfold. Code outside of kernels
// keeps denormals.

#ifndef SKALD_BASE_THREADS_FLOAT_ENVIRONMENT_H_
#define SKALD_BASE_THREADS_FLOAT_ENVIRONMENT_H_

#include <cstdint>

#include "hwy/detect_compiler_arch.h"

#if HWY_ARCH_X86
#include <xmmintrin.h>  // Highway does not wrap the control register
#endif

namespace skald {

enum class Denormals { kAsZero, kKept };

class FloatEnvironment {
 public:
  /// Saves the thread's state and sets that of the contract; kKept: with denormals.
  explicit FloatEnvironment(Denormals denormals = Denormals::kAsZero);
  ~FloatEnvironment() { Write(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if HWY_ARCH_X86
  // MXCSR: all masked, to nearest, flush to zero, denormals are zero. Above it the x87 control word, all masked, to
  // nearest: the C library rounds decimals by it.
  static constexpr uint64_t kContract = 0x037F00009FC0;
  static constexpr uint64_t kPlain = 0x037F00001F80;  ///< the same with denormals
  static uint64_t Read();
  static void Write(uint64_t value);
#elif HWY_ARCH_ARM_A64
  /// FPCR: FZ, all other bits zero. Above it FPSR: no flags raised.
  static constexpr uint64_t kContract = uint64_t{1} << 24;
  static constexpr uint64_t kPlain = 0;
  static uint64_t Read() {
    uint64_t control, status;
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status)::"memory");
    return status << 32 | (control & 0xFFFFFFFFu);
  }
  static void Write(uint64_t value) {
    asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(value & 0xFFFFFFFFu), "r"(value >> 32) : "memory");
  }
#else
  static constexpr uint64_t kContract = 0;  ///< no such register is known here: the caller's settings hold
  static constexpr uint64_t kPlain = 0;
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif

  const uint64_t saved_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/float_environment.h"
#endif

#endif  // SKALD_BASE_THREADS_FLOAT_ENVIRONMENT_H_
