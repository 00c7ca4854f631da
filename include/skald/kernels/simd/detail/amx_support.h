// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/kernels/simd/amx_support.h.

#ifndef SKALD_KERNELS_SIMD_DETAIL_AMX_SUPPORT_H_
#define SKALD_KERNELS_SIMD_DETAIL_AMX_SUPPORT_H_

#include "skald/kernels/simd/amx_support.h"

#if SKALD_HAS_AMX

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

// Intel 64 Software Developer's Manual, volume 1, chapter 18; Linux: Documentation/arch/x86/xstate.rst.
inline bool RequestAmx() {
  constexpr uint32_t kNeeded = 1u << 22 | 1u << 24 | 1u << 25;  // CPUID leaf 7, EDX: AMX-BF16, AMX-TILE, AMX-INT8
  uint32_t a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kNeeded) != kNeeded) return false;
  constexpr uint32_t kOsSavesBit = 1u << 27;  // CPUID leaf 1, ECX: XGETBV may be used
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kOsSavesBit) == 0) return false;
  constexpr uint32_t kTileStateBits = 3u << 17;
  uint32_t enabled, high;
  __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  if ((enabled & kTileStateBits) != kTileStateBits) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace internal

SKALD_INLINE bool HaveAmx() {
  static const bool granted = internal::RequestAmx();
  return granted;
}

}  // namespace skald

#endif

#endif  // SKALD_KERNELS_SIMD_DETAIL_AMX_SUPPORT_H_
