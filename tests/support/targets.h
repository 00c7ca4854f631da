// SPDX-License-Identifier: Apache-2.0
//
// Properties of the SIMD target that a kernel test runs on, and switching to another.

#ifndef SKALD_TESTS_SUPPORT_TARGETS_H_
#define SKALD_TESTS_SUPPORT_TARGETS_H_

#include <cstdint>
#include <vector>

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

// While it lives, all dispatched code runs on one SIMD target. For one thread.
class ScopedTarget {
 public:
  explicit ScopedTarget(int64_t target) : before_(hwy::SupportedTargets()) { Use(target); }
  ScopedTarget(const ScopedTarget&) = delete;
  ScopedTarget& operator=(const ScopedTarget&) = delete;
  ~ScopedTarget() { Use(before_); }

 private:
  static void Use(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  int64_t before_;
};

// The targets with FMA that this build and this CPU have; only the forced one where the run is for one target.
inline std::vector<int64_t> FmaTargets() {
  std::vector<int64_t> targets;
  for (int64_t rest = HWY_TARGETS & hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const ScopedTarget scoped(rest & -rest);
    if (TargetHasFma()) targets.push_back(rest & -rest);
  }
  return targets;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_TARGETS_H_
