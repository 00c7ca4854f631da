// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/float_environment.h.

#ifndef SKALD_BASE_THREADS_DETAIL_FLOAT_ENVIRONMENT_H_
#define SKALD_BASE_THREADS_DETAIL_FLOAT_ENVIRONMENT_H_

#include "skald/base/threads/float_environment.h"

#include "hwy/detect_compiler_arch.h"
#include "skald/base/inline.h"

#if HWY_ARCH_X86
#include <xmmintrin.h>  // Highway does not wrap the control register
#endif

namespace skald {

namespace internal {

#if HWY_ARCH_X86
// MXCSR: all masked, to nearest, flush to zero, denormals are zero. Above it the x87 control word, all masked, to
// nearest: the C library rounds decimals by it.
inline constexpr uint64_t kContractFloats = 0x037F00009FC0;
inline constexpr uint64_t kPlainFloats = 0x037F00001F80;  // the same with denormals
#elif HWY_ARCH_ARM_A64
// FPCR: FZ, all other bits zero. Above it FPSR: no flags raised.
inline constexpr uint64_t kContractFloats = uint64_t{1} << 24;
inline constexpr uint64_t kPlainFloats = 0;
#else
// No such register is known here: the caller's settings hold.
inline constexpr uint64_t kContractFloats = 0;
inline constexpr uint64_t kPlainFloats = 0;
#endif

}  // namespace internal

SKALD_INLINE FloatEnvironment::FloatEnvironment(Denormals denormals) : saved_(Read()) {
  Write(denormals == Denormals::kKept ? internal::kPlainFloats : internal::kContractFloats);
}

SKALD_INLINE FloatEnvironment::~FloatEnvironment() { Write(saved_); }

SKALD_INLINE uint64_t FloatEnvironment::Read() {
#if HWY_ARCH_X86
  uint16_t x87;
  asm volatile("fnstcw %0" : "=m"(x87));
  return uint64_t{x87} << 32 | _mm_getcsr();
#elif HWY_ARCH_ARM_A64
  uint64_t control, status;
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status)::"memory");
  return status << 32 | (control & 0xFFFFFFFFu);
#else
  return 0;
#endif
}

SKALD_INLINE void FloatEnvironment::Write([[maybe_unused]] uint64_t value) {
#if HWY_ARCH_X86
  const auto x87 = static_cast<uint16_t>(value >> 32);
  asm volatile("fldcw %0" ::"m"(x87) : "memory");
  _mm_setcsr(static_cast<unsigned>(value));
#elif HWY_ARCH_ARM_A64
  asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(value & 0xFFFFFFFFu), "r"(value >> 32) : "memory");
#endif
}

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_FLOAT_ENVIRONMENT_H_
