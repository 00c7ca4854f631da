// SPDX-License-Identifier: Apache-2.0
//
// What a kernel test may expect of the SIMD target it runs on.

#ifndef SKALD_TESTS_SUPPORT_TARGETS_H_
#define SKALD_TESTS_SUPPORT_TARGETS_H_

#include <cstdint>

#include "hwy/targets.h"

namespace skald::testing {

// The target that dispatch picks; in a build for one target that one.
inline int64_t TargetInUse() {
  constexpr int64_t kCompiled = HWY_TARGETS;
  if constexpr ((kCompiled & (kCompiled - 1)) == 0) return kCompiled;
  const int64_t usable = kCompiled & hwy::SupportedTargets();
  return usable & -usable;  // better targets have lower bits
}

// Whether results must equal the scalar reference bit for bit. The other targets round products before adding.
inline bool TargetHasFma() {
  return (TargetInUse() & (HWY_SSE2 | HWY_SSSE3 | HWY_SSE4 | HWY_EMU128 | HWY_SCALAR)) == 0;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_TARGETS_H_
