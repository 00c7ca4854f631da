// SPDX-License-Identifier: Apache-2.0

#include "skald/cache/blocks/block_table.h"

#include "doctest/doctest.h"

namespace skald {
namespace block_table_test {

TEST_CASE("slices and concatenation of an order are those of the list it stands for") {
  const Segments order = {{0, 5}, {20, 3}, {8, 4}};
  CHECK(Slice(order, 0, 12) == order);
  CHECK(Slice(order, 4, 9) == Segments{{4, 1}, {20, 3}, {8, 1}});
  CHECK(Slice(order, 6, 6).empty());
  for (uint32_t cut = 0; cut <= 12; ++cut) CHECK(Concatenate(Slice(order, 0, cut), Slice(order, cut, 12)) == order);
}

TEST_CASE("what is retained begins after the last token whose state is gone") {
  BlockTable table;
  table.tokens = 100;
  CHECK(FirstRetained(table, 0) == 0);
  CHECK(FirstRetained(table, 64) == 64);
  table.edits = {{0, 10}, {50, 50}};
  table.tokens = 60;
  CHECK(FirstRetained(table, 64) == 24);
  table.edits = {{70, 30}, {0, 10}};
  table.tokens = 40;
  CHECK(FirstRetained(table, 64) == 40);
}

}  // namespace block_table_test
}  // namespace skald
