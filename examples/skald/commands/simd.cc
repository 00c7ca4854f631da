// SPDX-License-Identifier: Apache-2.0

#include "commands/simd.h"

#include <cstdint>

#include "hwy/targets.h"

namespace skald::program {
namespace {

// What this build and this CPU have. Better targets have lower bits.
int64_t Available() {
  static const int64_t available = HWY_TARGETS & hwy::SupportedTargets();
  return available;
}

int64_t Best(int64_t targets) { return targets & -targets; }

}  // namespace

std::vector<std::string> SimdTargets() {
  std::vector<std::string> names;
  for (int64_t rest = Available(); rest != 0; rest &= rest - 1) names.emplace_back(hwy::TargetName(Best(rest)));
  return names;
}

std::string SimdTarget() { return hwy::TargetName(Best(Available() & hwy::SupportedTargets())); }

Result<void> UseSimdTarget(const std::string& name) {
  std::string names;
  for (int64_t rest = Available(); rest != 0; rest &= rest - 1) {
    const int64_t target = Best(rest);
    names += (names.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return {};
  }
  return Fail(ErrorCode::kUnsupported, "there is no SIMD target " + name + " here, only " + names);
}

}  // namespace skald::program
