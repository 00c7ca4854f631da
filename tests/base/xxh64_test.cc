// SPDX-License-Identifier: Apache-2.0

#include "skald/base/numbers/xxh64.h"

#include <string_view>
#include <vector>

#include "doctest/doctest.h"

namespace skald {
namespace xxh64_test {

uint64_t HashOf(std::string_view text) { return Xxh64(std::as_bytes(std::span(text))); }

// Numbers that the library xxHash gives.
TEST_CASE("XXH64 of texts") {
  CHECK(HashOf("") == 0xEF46DB3751D8E999u);
  CHECK(HashOf("abc") == 0x44BC2CF5AD770999u);
}

TEST_CASE("XXH64 of every length up to several stripes, each with another seed") {
  std::vector<std::byte> bytes;
  for (unsigned i = 0; i < 300; ++i) bytes.push_back(static_cast<std::byte>(i * 37 + i / 7));
  uint64_t all = 0;
  for (size_t size = 0; size <= bytes.size(); ++size) all = all * 31 + Xxh64(std::span(bytes).first(size), size);
  CHECK(all == 0xD051EEB191168D7Bu);
}

}  // namespace xxh64_test
}  // namespace skald
