// SPDX-License-Identifier: Apache-2.0
//
// Whether the processor has AVX-VNNI, dot products of bytes in registers of AVX2: Intel's processors for clients from
// Alder Lake on, and AMD's from Zen 5 on. Highway has no target for it. The variable SKALD_AVX_VNNI=0 of the
// environment turns it off, to test and measure what other processors do.

#ifndef SKALD_KERNELS_SIMD_AVX_VNNI_SUPPORT_H_
#define SKALD_KERNELS_SIMD_AVX_VNNI_SUPPORT_H_

#if defined(__x86_64__) && defined(__GNUC__)
#define SKALD_HAS_AVX_VNNI 1
#include <cpuid.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#else
#define SKALD_HAS_AVX_VNNI 0
#endif

namespace skald {

#if SKALD_HAS_AVX_VNNI

namespace internal {

// Intel Architecture Instruction Set Extensions, chapter 1.
inline bool FindAvxVnni() {
  const char* const wanted = std::getenv("SKALD_AVX_VNNI");
  if (wanted && std::string_view(wanted) == "0") return false;
  constexpr uint32_t kAvxVnniBit = 1u << 4;  // CPUID leaf 7, second part, EAX
  uint32_t a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvxVnniBit) != 0;
}

}  // namespace internal

// Thread-safe. Says nothing of AVX2 itself, which whoever asks is compiled for.
inline bool HaveAvxVnni() {
  static const bool found = internal::FindAvxVnni();
  return found;
}

#endif

}  // namespace skald

#endif  // SKALD_KERNELS_SIMD_AVX_VNNI_SUPPORT_H_
