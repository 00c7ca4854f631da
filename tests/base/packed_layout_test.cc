// SPDX-License-Identifier: Apache-2.0

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/bf16.h"

#include <set>

#include "doctest/doctest.h"
#include "skald/base/numbers/numeric.h"

namespace skald {
namespace packed_layout_test {

template <class T>
void CheckLayout(size_t n, size_t k) {
  std::set<size_t> indices;
  for (size_t row = 0; row < n; ++row) {
    for (size_t col = 0; col < k; ++col) indices.insert(PackedIndex<T>(row, col, RoundUp(k, kTile)));
  }
  CHECK(indices.size() == n * k);
  CHECK(*indices.rbegin() < PackedSize(n, k));
}

TEST_CASE("every element of a packed matrix has a place of its own") {
  CheckLayout<float>(1, 1);
  CheckLayout<float>(40, 33);
  CheckLayout<bf16>(17, 64);
  CheckLayout<bf16>(32, 5);
}

TEST_CASE("sixteen outputs lie side by side, pairs of bfloat16 terms together") {
  CHECK(PackedIndex<bf16>(3, 0, 32) == 6);
  CHECK(PackedIndex<bf16>(3, 1, 32) == 7);
  CHECK(PackedIndex<bf16>(3, 2, 32) == 38);
  CHECK(PackedIndex<bf16>(16, 0, 32) == 16 * 32);
  CHECK(PackedIndex<float>(3, 1, 32) == 19);
}

}  // namespace packed_layout_test
}  // namespace skald
