// SPDX-License-Identifier: Apache-2.0
//
// The output of every kind of filter: words of bits; and a program's own filter.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/grammar_filter.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace token_filter_test {

using namespace filter_tests;  // NOLINT: of this file only

TEST_CASE("Words say of every id whether it is allowed") {
  const std::vector<uint64_t> allowed = {0b101, ~uint64_t{0}};
  for (int32_t id = 0; id < 140; ++id) {
    CHECK(IsAllowed(allowed, id) == (id == 0 || id == 2 || (id >= 64 && id < 128)));
  }
  CHECK_FALSE(IsAllowed(allowed, -1));
  CHECK_FALSE(IsAllowed(allowed, 128));
  CHECK(IsAllowed(allowed, 64));
}

// Does not follow a grammar: no token twice.
class EachOnce final : public TokenFilter {
 public:
  Result<std::unique_ptr<TokenFilter>> Clone() const override { return std::make_unique<EachOnce>(*this); }
  Result<std::span<const uint64_t>> Allowed() override { return std::span<const uint64_t>(&left_, 1); }
  Result<void> Accept(int32_t id) override {
    if (!IsAllowed({&left_, 1}, id)) return Fail(ErrorCode::kInvalidArgument, "it came before");
    left_ &= ~(uint64_t{1} << id);
    return {};
  }
  bool IsComplete() const override { return left_ == 0; }

 private:
  uint64_t left_ = 0b111;
};

TEST_CASE("A program may bring a filter of its own") {
  std::unique_ptr<TokenFilter> filter = std::make_unique<EachOnce>();
  REQUIRE(filter->Accept(1));
  const std::unique_ptr<TokenFilter> clone = filter->Clone().value();
  CHECK_FALSE(filter->Accept(1));
  REQUIRE(filter->Accept(0));
  CHECK(Allowed(*filter)[0] == 0b100);
  CHECK(Allowed(*clone)[0] == 0b101);
}

}  // namespace token_filter_test
}  // namespace skald
