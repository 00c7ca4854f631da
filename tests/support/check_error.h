// SPDX-License-Identifier: Apache-2.0
//
// A test's expectation of an error: its code, and words of its sentence.

#ifndef SKALD_TESTS_SUPPORT_CHECK_ERROR_H_
#define SKALD_TESTS_SUPPORT_CHECK_ERROR_H_

#include <string>

#include "doctest/doctest.h"
#include "skald/base/result.h"

namespace skald::testing {

template <class T>
void CheckError(const Result<T>& result, ErrorCode code, const std::string& text) {
  REQUIRE_FALSE(result);
  CAPTURE(result.error().message);
  CHECK(result.error().code == code);
  CHECK(result.error().message.find(text) != std::string::npos);
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_CHECK_ERROR_H_
