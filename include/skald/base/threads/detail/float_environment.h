// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/float_environment.h.

#ifndef SKALD_BASE_THREADS_DETAIL_FLOAT_ENVIRONMENT_H_
#define SKALD_BASE_THREADS_DETAIL_FLOAT_ENVIRONMENT_H_

#include "skald/base/threads/float_environment.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE FloatEnvironment::FloatEnvironment(Denormals denormals) : saved_(Read()) {
  Write(denormals == Denormals::kKept ? kPlain : kContract);
}

SKALD_INLINE uint64_t FloatEnvironment::Read() {
  uint16_t x87;
  asm volatile("fnstcw %0" : "=m"(x87));
  return uint64_t{x87} << 32 | _mm_getcsr();
}

SKALD_INLINE void FloatEnvironment::Write(uint64_t value) {
  const auto x87 = static_cast<uint16_t>(value >> 32);
  asm volatile("fldcw %0" ::"m"(x87) : "memory");
  _mm_setcsr(static_cast<unsigned>(value));
}

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_FLOAT_ENVIRONMENT_H_
