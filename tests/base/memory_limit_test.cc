// SPDX-License-Identifier: Apache-2.0

#include "skald/base/memory_limit.h"

#include <new>
#include <stdexcept>
#include <string>

#include "doctest/doctest.h"

namespace skald {
namespace {

TEST_CASE("memory that the system does not have is an error that says for what") {
  const auto large = CatchOutOfMemory("the moon", []() -> Result<int> { throw std::bad_alloc(); });
  REQUIRE_FALSE(large);
  CHECK(large.error().code == ErrorCode::kResourceExhausted);
  CHECK(large.error().message.find("the moon") != std::string::npos);
  CHECK_FALSE(CatchOutOfMemory("a list", []() -> Result<int> { throw std::length_error("too long"); }));
}

TEST_CASE("anything else passes through") {
  CHECK(*CatchOutOfMemory("seven", []() -> Result<int> { return 7; }) == 7);
}

}  // namespace
}  // namespace skald
