// SPDX-License-Identifier: Apache-2.0
//
// Whether the processor has AVX-VNNI, dot products of bytes in registers of AVX2: Intel's client processors since Alder
// Lake, and AMD's since Zen 5. Highway has no target for it.

#ifndef SKALD_KERNELS_SIMD_AVX_VNNI_SUPPORT_H_
#define SKALD_KERNELS_SIMD_AVX_VNNI_SUPPORT_H_

#if defined(__x86_64__) && defined(__GNUC__)
#define SKALD_HAS_AVX_VNNI 1
#include <cpuid.h>

#include <atomic>
#include <cstdint>
#else
#define SKALD_HAS_AVX_VNNI 0
#endif

namespace skald {

#if !SKALD_HAS_AVX_VNNI

inline void AllowAvxVnni(bool) {}
inline bool HaveAvxVnni() { return false; }

#else

namespace internal {

/// Intel Architecture Instruction Set Extensions, chapter 1.
inline bool FindAvxVnni() {
  constexpr uint32_t kAvxVnniBit = 1u << 4;  // CPUID leaf 7, second part, EAX
  uint32_t a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvxVnniBit) != 0;
}

inline std::atomic<bool> avx_vnni_is_allowed = true;

}  // namespace internal

/// Sets whether AVX-VNNI is used if the processor has it. Without it, tests and benchmarks see AVX2 as on most
/// processors.
inline void AllowAvxVnni(bool allowed) { internal::avx_vnni_is_allowed.store(allowed, std::memory_order_relaxed); }

/// Thread-safe. Does not check AVX2 itself: the calling code is compiled for it.
inline bool HaveAvxVnni() {
  static const bool found = internal::FindAvxVnni();
  return found && internal::avx_vnni_is_allowed.load(std::memory_order_relaxed);
}

#endif

}  // namespace skald

#endif  // SKALD_KERNELS_SIMD_AVX_VNNI_SUPPORT_H_
