// SPDX-License-Identifier: Apache-2.0
//
// Queries that grow with their position (Attention::query_growth): bits do not depend on how a text is cut into runs,
// and nothing changes before the first position that counts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace growing_queries_test {

constexpr size_t kContext = 20, kTokens = 75;

SmallModel Growing(float growth) {
  SmallModel small = SmallModelNamed("all-features");
  for (Block& block : small.spec.blocks) {
    for (LayerSpec& layer : block.layers) {
      if (layer.As<Attention>() == nullptr) continue;
      Attention attention = *layer.As<Attention>();
      attention.query_growth = growth;
      attention.query_growth_context = growth > 0.0f ? static_cast<int>(kContext) : 0;
      layer = attention;
    }
  }
  small.layout = LayoutOf(small.spec);
  return small;
}

TEST_CASE("growing queries give the same bits in runs of any length") {
  const RandomModel model(Growing(0.4f), 3);
  const std::vector<int32_t> tokens = RandomTokens(model.small(), 5, kTokens);
  const std::vector<float> at_once = AllLogits(model, tokens);
  Workspace workspace = *CreateWorkspace({.threads = 2});
  for (const size_t chunk : {1, 7, 32}) {
    KVCache cache = NewCache(model.small());
    CHECK(AllLogits(model, cache, tokens, chunk, workspace) == at_once);
  }
}

TEST_CASE("queries grow from the second context on") {
  const RandomModel plain(Growing(0.0f), 3), growing(Growing(0.4f), 3);
  const std::vector<int32_t> tokens = RandomTokens(plain.small(), 5, kTokens);
  const std::vector<float> expected = AllLogits(plain, tokens), found = AllLogits(growing, tokens);
  const size_t row = expected.size() / kTokens;
  const auto first = std::ranges::mismatch(found, expected).in1 - found.begin();
  CHECK(static_cast<size_t>(first) >= kContext * row);
  CHECK(static_cast<size_t>(first) < (kContext + 1) * row);
}

}  // namespace growing_queries_test
}  // namespace skald::testing
