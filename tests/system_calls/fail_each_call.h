// SPDX-License-Identifier: Apache-2.0
//
// The law of failing system calls: if any call of an operation fails, once or with all later ones, the operation
// returns an error or succeeds. Data that was reported as saved, before or now, is there with all its bits once calls
// work again; the same operation then succeeds; no descriptor stays open, and no unneeded file remains. A call that is
// interrupted or does less than it could is not a failure.
//
// Of operations with many calls some are tried: all of the first, then fewer and fewer. With SKALD_LONG_TESTS in the
// environment, all are.

#ifndef SKALD_TESTS_SYSTEM_CALLS_FAIL_EACH_CALL_H_
#define SKALD_TESTS_SYSTEM_CALLS_FAIL_EACH_CALL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/result.h"
#include "tests/support/long_tests.h"
#include "tests/support/temporary_folder.h"
#include "tests/system_calls/failing_calls.h"

namespace skald::testing {

// The names of all that is in a folder, its subfolders' included; hashes of the folder's own name, which always
// differs, left out.
inline std::string NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    names.push_back(std::regex_replace(name, std::regex("-[0-9a-f]{10,16}-"), "-hash-"));
  }
  std::ranges::sort(names);
  std::string all;
  for (const std::string& name : names) all += name + "\n";
  return all;
}

inline std::string Describe(const FaultPlan& plan) {
  const char* const fault = plan.fault == Fault::kError       ? "failing"
                            : plan.fault == Fault::kInterrupt ? "interrupted"
                                                              : "doing less";
  std::string text = "call " + std::to_string(plan.first) + (plan.count == 1 ? "" : " and those after it") +
                     (plan.one_in == 1 ? " " : ", one in " + std::to_string(plan.one_in) + ", ");
  return text + fault + ", seed " + std::to_string(plan.seed);
}

namespace failing {

inline size_t NextCall(size_t call) { return call + 1 + (testing::LongTests() ? 0 : call / 16); }

// Returns what is wrong with the operation when calls go as planned, "" for nothing, or null if it has none so late.
template <class World, class Operation>
std::optional<std::string> Try(Operation operation, const FaultPlan& plan, const std::string& expected_names) {
  World world;
  world.Prepare();
  const size_t descriptors = OpenDescriptors();
  std::string error;
  bool reached = false;
  {
    const FailingCalls failing(plan);
    const auto result = operation(world);
    reached = failing.reached();
    if (!result) error = result.error().message;
  }
  if (!reached) return std::nullopt;
  if (OpenDescriptors() != descriptors) return "a descriptor stays open after: " + error;
  if (plan.fault != Fault::kError && !error.empty()) return "an error: " + error;
  if (const std::string lost = world.Lost(error.empty()); !lost.empty()) return lost + " after: " + error;
  if (const auto again = operation(world); !again) return "an error once calls work: " + again.error().message;
  if (const std::string lost = world.Lost(true); !lost.empty()) return lost + " once calls work";
  world.Clean();
  if (NamesIn(world.folder.path()) == expected_names) return "";
  return "files left after \"" + error + "\":\n" + NamesIn(world.folder.path()) + "instead of\n" + expected_names;
}

}  // namespace failing

// Holds `operation`, which takes a World& and returns a Result, to the law. A World has a TemporaryFolder `folder`;
// Prepare(), which makes what the operation works on; Lost(done), which says what is missing or different of what was
// saved, the operation's own work included if it is `done`; and Clean(), which does what one waits for with a killed
// writer's files.
template <class World, class Operation>
void FailEachCall(const std::string& name, Operation operation) {
  std::string expected_names;
  {
    World world;
    world.Prepare();
    const auto result = operation(world);
    REQUIRE_MESSAGE(result, name);
    REQUIRE_MESSAGE(world.Lost(true) == "", name);
    REQUIRE(operation(world));
    world.Clean();
    expected_names = NamesIn(world.folder.path());
  }
  const auto check = [&](const FaultPlan& plan) {
    const auto wrong = failing::Try<World>(operation, plan, expected_names);
    if (wrong && !wrong->empty()) FAIL_CHECK(name << ", " << Describe(plan) << ": " << *wrong);
    return wrong.has_value();
  };
  const auto check_each = [&](FaultPlan plan) {
    for (; check(plan); plan.first = failing::NextCall(plan.first)) {
    }
  };
  for (uint32_t seed = 0; seed < 3; ++seed) {
    for (const size_t count : {size_t{1}, kForGood}) check_each({Fault::kError, 0, count, 1, seed});
    check_each({Fault::kInterrupt, 0, 1, 1, seed});
    check({Fault::kInterrupt, 0, kForGood, 2, seed});
    check({Fault::kShort, 0, kForGood, 1, seed});
    for (uint32_t one_in = 2; one_in <= 16; one_in *= 2) check({Fault::kError, 0, kForGood, one_in, seed});
  }
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SYSTEM_CALLS_FAIL_EACH_CALL_H_
