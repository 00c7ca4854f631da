// SPDX-License-Identifier: Apache-2.0
//
// Which SIMD targets take a kernel from an older one. A kernel is compiled for a newer target only if that has
// instructions that make it faster; otherwise both would be the same machine code, compiled twice.
//
// Each macro is used in a function before its table of targets, and makes the namespaces of newer targets there aliases
// of an older one's.

#ifndef SKALD_KERNELS_SHARED_TARGETS_H_
#define SKALD_KERNELS_SHARED_TARGETS_H_

#include "hwy/detect_targets.h"

// clang-format off
#if HWY_TARGETS & HWY_SSE2
  #define SKALD_SSSE3_AS_SSE2 namespace N_SSSE3 = skald::N_SSE2;
  #define SKALD_SSE4_AS_SSE2 namespace N_SSE4 = skald::N_SSE2;
#else
  #define SKALD_SSSE3_AS_SSE2
  #define SKALD_SSE4_AS_SSE2
#endif

#if HWY_TARGETS & HWY_AVX3
  #define SKALD_NEWER_AS_AVX3               \
    namespace N_AVX3_DL = skald::N_AVX3;    \
    namespace N_AVX3_ZEN4 = skald::N_AVX3;  \
    namespace N_AVX3_SPR = skald::N_AVX3;
#else
  #define SKALD_NEWER_AS_AVX3
#endif
// clang-format on

// For multiplication by group-quantised weights: SSE4 multiplies bytes in pairs, and AVX3_DL and newer in fours.
#define SKALD_SHARE_BYTE_PRODUCTS SKALD_SSSE3_AS_SSE2

// For multiplication by bfloat16 and float: AVX3_ZEN4 and AVX3_SPR multiply bfloat16 natively.
#define SKALD_SHARE_PRODUCTS SKALD_SSSE3_AS_SSE2 SKALD_SSE4_AS_SSE2

// For everything else.
#define SKALD_SHARE_ALL SKALD_SSSE3_AS_SSE2 SKALD_SSE4_AS_SSE2 SKALD_NEWER_AS_AVX3

#endif  // SKALD_KERNELS_SHARED_TARGETS_H_
