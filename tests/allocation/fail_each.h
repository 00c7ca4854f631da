// SPDX-License-Identifier: Apache-2.0
//
// The law of memory that runs out: whichever allocation of a call fails, once or with all that follow, the call returns
// an error or succeeds; nothing leaks, an error leaves things as they were, and the same call made again gives what it
// gives where there always was memory.
//
// Of calls with many allocations some are tried: all of the first, then fewer and fewer. With SKALD_LONG_TESTS in the
// environment, all are.

#ifndef SKALD_TESTS_ALLOCATION_FAIL_EACH_H_
#define SKALD_TESTS_ALLOCATION_FAIL_EACH_H_

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/result.h"
#include "tests/allocation/failing_allocations.h"
#include "tests/support/long_tests.h"

namespace skald::testing {

namespace failing {

// The present case, for a message if the program ends.
inline std::string trying;

// How many allocations have failed, told in the end.
struct Tally {
  ~Tally() { std::cout << points << " allocations failed, one at a time or with all that follow\n"; }
  size_t points = 0;
};
inline Tally tally;

[[noreturn]] inline void TellWhatEndedIt() {
  std::cerr << "ENDED BY " << trying << std::endl;
  std::_Exit(1);
}

inline size_t NextPoint(size_t point) { return point + 1 + (testing::LongTests() ? 0 : point / 16); }

template <class Scene>
std::string StateOf(Scene& scene) {
  if constexpr (requires { scene.State(); }) return scene.State();
  return "";
}

// Returns what is wrong with the call when allocation `point` fails, "" for nothing, or null if it has none so late.
template <class Make, class Call, class Look>
std::optional<std::string> Try(Make make, Call call, Look look, const std::string& expected, size_t point,
                               Failing failing) {
  auto scene = make();
  const std::string before = StateOf(*scene);
  std::optional<decltype(call(*scene))> result;
  bool reached = false;
  try {
    const FailingAllocations armed(point, failing);
    result.emplace(call(*scene));
    reached = armed.reached();
  } catch (const std::exception& exception) {
    return std::string("threw ") + exception.what();
  }
  if (!reached) return std::nullopt;
  if (*result) return look(*scene, *result) == expected ? "" : "succeeded with another result";
  if (result->error().code != ErrorCode::kResourceExhausted) return "another error: " + result->error().message;
  if (StateOf(*scene) != before) return "an error, and things are not as they were: " + result->error().message;
  const auto again = call(*scene);
  if (!again) return "the same call fails with all memory there: " + again.error().message;
  return look(*scene, again) == expected ? "" : "the same call has another result afterwards";
}

}  // namespace failing

// Holds `call` to the law. make() returns a pointer to its objects, call(scene) returns a Result, and look(scene,
// result) a string of its result and side effects. scene.State(), if there is such a function, is a string of the state
// that an error must not change.
template <class Make, class Call, class Look>
void FailEachAllocation(const std::string& name, Make make, Call call, Look look) {
  std::set_terminate(failing::TellWhatEndedIt);
  const auto undisturbed = [&] {
    auto scene = make();
    const auto result = call(*scene);
    REQUIRE_MESSAGE(result, name);
    return look(*scene, result);
  };
  const std::string expected = undisturbed();
  REQUIRE_MESSAGE(undisturbed() == expected, name);
  for (const Failing failing : {Failing::kOnce, Failing::kFromThenOn}) {
    for (size_t point = 0;; point = failing::NextPoint(point)) {
      failing::trying = name + ", allocation " + std::to_string(point) +
                        (failing == Failing::kOnce ? " failing" : " and all later ones failing");
      const size_t live = LiveAllocations();
      const auto wrong = failing::Try(make, call, look, expected, point, failing);
      if (!wrong) break;
      ++failing::tally.points;
      if (!wrong->empty()) FAIL_CHECK(failing::trying << ": " << *wrong);
      if (wrong->empty() && LiveAllocations() != live) FAIL_CHECK(failing::trying << ": memory leaks");
    }
  }
}

// Look for calls whose success is all that they give.
inline constexpr auto kSuccess = [](const auto&, const auto&) { return std::string("success"); };

// The bytes of an array of plain values.
template <class Values>
std::string BytesIn(const Values& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(*values.data()));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_ALLOCATION_FAIL_EACH_H_
