// SPDX-License-Identifier: Apache-2.0
//
// Whether tests that try many cases try all of them: SKALD_LONG_TESTS in the environment.

#ifndef SKALD_TESTS_SUPPORT_LONG_TESTS_H_
#define SKALD_TESTS_SUPPORT_LONG_TESTS_H_

#include <cstdlib>

namespace skald::testing {

inline bool LongTests() {
  static const bool are_wanted = std::getenv("SKALD_LONG_TESTS") != nullptr;
  return are_wanted;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_LONG_TESTS_H_
