// SPDX-License-Identifier: Apache-2.0
//
// FlushDenormals: while one lives, its thread treats denormal floats as zero; afterwards the thread is as it was.
// AMX always does so, and denormals slow other units down a hundredfold (arithmetic contract, R6).

#ifndef SKALD_BASE_FLUSH_DENORMALS_H_
#define SKALD_BASE_FLUSH_DENORMALS_H_

#include <cstdint>

#include "hwy/detect_compiler_arch.h"

#if HWY_ARCH_X86
#include <xmmintrin.h>  // Highway does not wrap the control register
#endif

namespace skald {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(Read()) { Write(saved_ | kFlush); }
  ~FlushDenormals() { Write(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if HWY_ARCH_X86
  static constexpr uint64_t kFlush = 0x8040;  // MXCSR: flush to zero, denormals are zero
  static uint64_t Read() { return _mm_getcsr(); }
  static void Write(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif HWY_ARCH_ARM_A64
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR.FZ
  static uint64_t Read() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Write(uint64_t value) { asm volatile("msr fpcr, %0" ::"r"(value)); }
#else
  static constexpr uint64_t kFlush = 0;  // no such mode known here: denormals keep their value
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif

  const uint64_t saved_;
};

}  // namespace skald

#endif  // SKALD_BASE_FLUSH_DENORMALS_H_
