// SPDX-License-Identifier: Apache-2.0
//
// Sixteen conversations of one pool, interleaved at random in batches of any shape: each says what it would have said
// alone. Recurrent models are where this goes wrong elsewhere.

#include <cstring>
#include <random>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace many_users_test {

constexpr size_t kUsers = 16, kTokens = 90;

SKALD_LAW("sixteen interleaved conversations each equal themselves alone", small) {
  const RandomModel model(small, 5);
  auto pool = NewPool(small);
  Workspace workspace = *CreateWorkspace({.threads = 2});
  std::mt19937 random(1);
  std::vector<KVCache> caches;
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::vector<float>> logits(kUsers);
  for (size_t user = 0; user < kUsers; ++user) {
    caches.push_back(*CreateKVCache(pool));
    tokens.push_back(RandomTokens(small, 100 + user, kTokens));
  }
  const std::vector<Want> wants(kTokens, Want::kLogits);
  for (size_t left = kUsers * kTokens; left > 0;) {
    Batch batch;
    std::vector<std::pair<size_t, size_t>> runs;  // user, tokens
    for (size_t user = 0; user < kUsers; ++user) {
      const size_t rest = kTokens - caches[user].size();
      const size_t count = std::min<size_t>(rest, random() % 3 == 0 ? random() % 30 : random() % 3);
      if (count == 0) continue;
      batch.Add(caches[user], std::span(tokens[user]).subspan(caches[user].size(), count),
                std::span(wants).first(count));
      runs.push_back({user, count});
      left -= count;
    }
    if (runs.empty()) continue;
    const auto outputs = model.Forward(batch, workspace, {.pass_tokens = 40});
    REQUIRE(outputs);
    size_t output = 0;
    for (const auto& [user, count] : runs) {
      for (size_t i = 0; i < count; ++i, ++output) {
        logits[user].insert(logits[user].end(), (*outputs)[output].begin(), (*outputs)[output].end());
      }
    }
  }
  for (size_t user = 0; user < kUsers; ++user) {
    CAPTURE(user);
    const std::vector<float> alone = AllLogits(model, tokens[user]);
    REQUIRE(alone.size() == logits[user].size());
    CHECK(std::memcmp(alone.data(), logits[user].data(), alone.size() * sizeof(float)) == 0);
  }
}

}  // namespace many_users_test
}  // namespace skald::testing
