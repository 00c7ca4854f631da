// SPDX-License-Identifier: Apache-2.0
//
// The main function of every test executable. With --target=AVX2 (or any other name that Highway uses, or AVX2_VNNI)
// all dispatched code runs on that SIMD target, and the run fails if it did not. --other-target=AVX2 is the same, but
// does nothing where a run without it is on that target. A run that had to leave something out, because the CPU lacks
// the target or reference files or programs are absent, ends with the exit code that ctest reports as skipped.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/main.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {
inline int64_t CompiledFor() { return HWY_TARGET; }
}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/kernels/simd/avx_vnni_support.h"
#include "tests/support/test_data.h"

namespace skald {
namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt

HWY_EXPORT(CompiledFor);

// Asks the table that every kernel call goes through.
int64_t TargetThatRuns() { return HWY_DYNAMIC_DISPATCH(CompiledFor)(); }

std::string Names(int64_t targets) {
  std::string names;
  for (; targets != 0; targets &= targets - 1) {
    names += ' ';
    names += hwy::TargetName(targets & -targets);
  }
  return names;
}

// The text after `flag` in the argument that begins with it.
std::optional<std::string_view> Argument(std::string_view flag, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(flag)) return argument.substr(flag.size());
  }
  return std::nullopt;
}

// AVX2 with AVX-VNNI, which Highway has no name for; AVX2 by that name is without it.
constexpr std::string_view kAvxVnni = "AVX2_VNNI";

// Highway's name of a target.
std::string_view NameInHighway(std::string_view name) { return name == kAvxVnni ? "AVX2" : name; }

// Makes all dispatched code run on the named target. Returns false if this build or this CPU cannot.
bool ForceTarget(std::string_view name) {
  if (name == kAvxVnni && !HaveAvxVnni()) return false;
  AllowAvxVnni(name != NameInHighway(kAvxVnni));
  for (int64_t rest = HWY_TARGETS & hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    if (NameInHighway(name) != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
  }
  return false;
}

// The target that dispatch picks by itself.
std::string_view NameOfPicked() {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  const std::string_view name = hwy::TargetName(TargetThatRuns());
  return name == NameInHighway(kAvxVnni) && HaveAvxVnni() ? kAvxVnni : name;
}

int RunTests(int argc, char** argv) {
  doctest::Context context(argc, argv);
  std::cout << "targets compiled:" << Names(HWY_TARGETS)
            << "\ntargets supported by this CPU:" << Names(hwy::SupportedTargets()) << '\n';
  const std::optional<std::string_view> other = Argument("--other-target=", argc, argv);
  if (other && *other == NameOfPicked()) {
    std::cout << "SKIPPED: the same run without a target is on " << *other << '\n';
    return kSkipped;
  }
  const std::optional<std::string_view> wanted = other ? other : Argument("--target=", argc, argv);
  if (wanted && !ForceTarget(*wanted)) {
    std::cout << "SKIPPED: this build or this CPU lacks the target " << *wanted << '\n';
    return kSkipped;
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  const int64_t before = TargetThatRuns();
  const int result = context.run();
  const int64_t after = TargetThatRuns();
  if (context.shouldExit() || result != 0) return result;

  std::cout << "targets run:" << Names(before) << '\n';
  if (before != after || (wanted && NameInHighway(*wanted) != hwy::TargetName(after))) {
    std::cout << "FAILED: the tests ended on" << Names(after) << '\n';
    return 1;
  }
  if (missing_test_data != 0) {
    std::cout << "SKIPPED in part: " << missing_test_data << " look-ups of reference files or programs found nothing\n";
    return kSkipped;
  }
  return 0;
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) { return skald::RunTests(argc, argv); }
#endif  // HWY_ONCE
