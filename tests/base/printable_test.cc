// SPDX-License-Identifier: Apache-2.0

#include "skald/base/text/printable.h"

#include <string>

#include "doctest/doctest.h"

namespace skald {
namespace printable_test {

TEST_CASE("what can be shown stays as it is") {
  CHECK(Printable("").empty());
  CHECK(Printable("a <b> \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80") == "a <b> \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(Printable("\xC2\xA0") == "\xC2\xA0");  // the first character after the control characters
}

TEST_CASE("control characters and bytes that form no character become question marks") {
  CHECK(Printable("a\x1B[2J\nb\x7F") == "a?[2J?b?");
  CHECK(Printable(std::string("\0", 1)) == "?");
  CHECK(Printable("\xC2\x9B"
                  "31m") == "?31m");  // a control sequence in one character
  CHECK(Printable("\xFF\xFEx\xE2\x82") == "??x??");
  CHECK(Printable("\xED\xA0\x80") == "???");  // half of a surrogate pair
}

}  // namespace printable_test
}  // namespace skald
