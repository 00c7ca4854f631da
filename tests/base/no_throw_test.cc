// SPDX-License-Identifier: Apache-2.0

#include "skald/base/no_throw.h"

#include <new>
#include <stdexcept>
#include <string>

#include "doctest/doctest.h"

namespace skald {
namespace no_throw_test {

TEST_CASE("memory that the system does not have is an error that says for what") {
  const auto large = NoThrow("the moon", []() -> Result<int> { throw std::bad_alloc(); });
  REQUIRE_FALSE(large);
  CHECK(large.error().code == ErrorCode::kResourceExhausted);
  CHECK(large.error().message.find("the moon") != std::string::npos);
  CHECK_FALSE(NoThrow("a list", []() -> Result<int> { throw std::length_error("too long"); }));
}

TEST_CASE("any other exception is an error that repeats what it says") {
  const auto failed = NoThrow("the library", []() -> Result<int> { throw std::runtime_error("no such day"); });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::kFailedPrecondition);
  CHECK(failed.error().message == "the library: no such day");
}

TEST_CASE("the error for no memory takes none") {
  const Result<int> failure = OutOfMemory();
  const std::string& text = failure.error().message;
  const auto* const at = reinterpret_cast<const char*>(&text);
  CHECK((text.data() >= at && text.data() < at + sizeof(text)));
}

TEST_CASE("what does not fail passes through") {
  CHECK(*NoThrow("seven", []() -> Result<int> { return 7; }) == 7);
}

}  // namespace no_throw_test
}  // namespace skald
