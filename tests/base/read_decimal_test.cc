// SPDX-License-Identifier: Apache-2.0
//
// Decimal numbers at the beginning of texts, the same from every C++ library.

#include "skald/base/text/read_decimal.h"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "doctest/doctest.h"

namespace skald::testing {
namespace read_decimal_test {

struct Sample {
  std::string_view text;
  double number;
  size_t length;
};

TEST_CASE("a number ends where no digit belongs to it") {
  for (const Sample& sample :
       {Sample{"1", 1.0, 1}, Sample{"-2.50x", -2.5, 5}, Sample{".5.5", 0.5, 2}, Sample{"7.", 7.0, 2},
        Sample{"1e3", 1000.0, 3}, Sample{"1e+2e", 100.0, 4}, Sample{"1e", 1.0, 1}, Sample{"1e-", 1.0, 1},
        Sample{"0x10", 0.0, 1}, Sample{"0.1", 0.1, 3}, Sample{"inf", INFINITY, 3}, Sample{"-Infinity!", -INFINITY, 9},
        Sample{"1,5", 1.0, 1}}) {
    CAPTURE(sample.text);
    double read = 42;
    const auto [end, error] = internal::ReadDecimal(sample.text, read);
    CHECK(error == std::errc());
    CHECK(read == sample.number);
    CHECK(static_cast<size_t>(end - sample.text.data()) == sample.length);
  }
}

TEST_CASE("what is no number, or none that fits, changes nothing") {
  for (const std::string_view text : {"", "-", ".", "e5", "+1", " 1", "x"}) {
    CAPTURE(text);
    double read = 42;
    CHECK(internal::ReadDecimal(text, read).ec == std::errc::invalid_argument);
    CHECK(read == 42);
  }
  double read = 42;
  CHECK(internal::ReadDecimal("1e999", read).ec == std::errc::result_out_of_range);
  CHECK(read == 42);
  CHECK(internal::ReadDecimal("nan", read).ec == std::errc());
  CHECK(std::isnan(read));
}

}  // namespace read_decimal_test
}  // namespace skald::testing
