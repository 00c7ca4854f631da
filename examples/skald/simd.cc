// SPDX-License-Identifier: Apache-2.0

#include "simd.h"

#include <cstdint>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "skald/kernels/simd/avx_vnni_support.h"

namespace skald::program {
namespace {

// The SIMD targets of this build and this CPU. Better targets have lower bits.
int64_t Available() {
  static const int64_t available = HWY_TARGETS & hwy::SupportedTargets();
  return available;
}

int64_t Best(int64_t targets) { return targets & -targets; }

// A target of Highway's, or AVX2 with AVX-VNNI, which Highway has no name for.
struct Target {
  std::string name;
  int64_t bits;
  bool avx_vnni = true;  // used where the processor has it
};

const std::vector<Target>& Targets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> found;
    for (int64_t rest = Available(); rest != 0; rest &= rest - 1) {
      const int64_t bits = Best(rest);
      if (bits == HWY_AVX2 && HaveAvxVnni()) found.push_back({"AVX2_VNNI", bits});
      found.push_back({hwy::TargetName(bits), bits, bits != HWY_AVX2});
    }
    return found;
  }();
  return targets;
}

}  // namespace

std::vector<std::string> SimdTargets() {
  std::vector<std::string> names;
  for (const Target& target : Targets()) names.push_back(target.name);
  return names;
}

std::string SimdTarget() {
  const int64_t bits = Best(Available() & hwy::SupportedTargets());
  return bits == HWY_AVX2 && HaveAvxVnni() ? "AVX2_VNNI" : hwy::TargetName(bits);
}

Result<void> UseSimdTarget(const std::string& name) {
  std::string names;
  for (const Target& target : Targets()) {
    names += (names.empty() ? "" : ", ") + target.name;
    if (name != target.name) continue;
    hwy::SetSupportedTargetsForTest(target.bits);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    AllowAvxVnni(target.avx_vnni);
    return {};
  }
  return Fail(ErrorCode::kUnsupported, "there is no SIMD target " + name + " here, only " + names);
}

}  // namespace skald::program
