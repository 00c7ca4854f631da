// SPDX-License-Identifier: Apache-2.0
//
// Observers of the residual stream: what they are shown, that watching changes nothing, and that a change stays in the
// sequence that it was made in.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace observer_test {

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

SKALD_LAW("watching changes no bit, and shows each row of each pass before every block", small) {
  const RandomModel model(small, 3);
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 50);
  const size_t blocks = small.spec.blocks.size(), model_dim = static_cast<size_t>(small.spec.model_dim);
  std::vector<size_t> rows(blocks + 1, 0);
  size_t next = 0;
  const auto watch = [&](const ResidualStream& stream) {
    CHECK(stream.block == next);
    CHECK(stream.layer == (next < blocks ? small.spec.blocks[next].number : NumLayers(small.spec)));
    next = next == blocks ? 0 : next + 1;
    CHECK(stream.values.size() == stream.rows() * model_dim);
    for (size_t i = 0; i < stream.rows(); ++i) {
      const size_t position = rows[stream.block] + i;
      CHECK(stream.positions[i] == position);
      CHECK(stream.tokens[i] == tokens[position]);
      CHECK(stream.sequences[i] == 0);
      CHECK(stream.row(i).data() == stream.values.data() + i * model_dim);
    }
    rows[stream.block] += stream.rows();
  };
  const std::vector<float> expected = AllLogits(model, tokens);
  const std::vector<float> watched = AllLogits(model, tokens, {}, {.pass_tokens = 17, .observer = watch}, 2);
  CHECK(rows == std::vector<size_t>(blocks + 1, tokens.size()));
  REQUIRE(watched.size() == expected.size());
  CHECK(std::memcmp(watched.data(), expected.data(), expected.size() * sizeof(float)) == 0);
}

SKALD_LAW("a changed row changes its own sequence, from its position on, and no other", small) {
  const RandomModel model(small, 3);
  const std::vector<int32_t> first = RandomTokens(small, 1, 30), second = RandomTokens(small, 2, 30);
  const std::vector<Want> wants(30, Want::kLogits);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto run = [&](const Observer& observer) {
    KVCache a = NewCache(small), b = NewCache(small);
    const auto outputs = model.Forward(Batch().Add(a, first, wants).Add(b, second, wants), workspace,
                                       {.pass_tokens = 40, .observer = observer});
    REQUIRE(outputs);
    std::vector<std::vector<float>> rows;
    for (size_t i = 0; i < outputs->size(); ++i) rows.push_back(Copy((*outputs)[i]));
    return rows;
  };
  const auto expected = run({});
  const auto steered = run([](const ResidualStream& stream) {
    for (size_t i = 0; i < stream.rows(); ++i) {
      if (stream.block == 1 && stream.sequences[i] == 1 && stream.positions[i] == 12) stream.row(i)[3] += 5.0f;
    }
  });
  constexpr size_t kChanged = 30 + 12;
  for (size_t i = 0; i < kChanged; ++i) {
    CAPTURE(i);
    CHECK(steered[i] == expected[i]);
  }
  // The state passes it on to the next token; a state that fades may forget it after some more.
  CHECK(steered[kChanged] != expected[kChanged]);
  CHECK(steered[kChanged + 1] != expected[kChanged + 1]);
}

SKALD_LAW("the head's logits of what an observer sees before it are those of Forward", small) {
  const RandomModel model(small, 3);
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 20);
  Workspace lens = *CreateWorkspace({.threads = 1});
  std::vector<float> seen, early;
  const auto watch = [&](const ResidualStream& stream) {
    if (stream.block != 1 && stream.block != small.spec.blocks.size()) return;
    const auto logits = model.Logits(stream.values, lens);
    REQUIRE(logits);
    CHECK(logits->size() == tokens.size());
    std::vector<float>& all = stream.block == 1 ? early : seen;
    for (size_t i = 0; i < logits->size(); ++i) all.insert(all.end(), (*logits)[i].begin(), (*logits)[i].end());
  };
  const std::vector<float> logits = AllLogits(model, tokens, {}, {.observer = watch});
  CHECK(seen == logits);
  CHECK(early.size() == logits.size());
  CHECK(early != logits);
  const auto odd = model.Logits(std::span(logits).first(7), lens);
  CHECK(odd.error().code == ErrorCode::kInvalidArgument);
  CHECK(odd.error().message.find("7 floats are no rows") != std::string::npos);
}

TEST_CASE("an observer that throws, or uses the workspace of its call, fails the call and changes no cache") {
  const RandomModel model(SmallModelNamed("one-layer"), 3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(SmallModelNamed("one-layer"));
  const std::vector<int32_t> tokens = {1, 2, 3};
  const auto thrown = model.Forward(cache, tokens, workspace,
                                    {.observer = [](const ResidualStream&) { throw std::runtime_error("enough"); }});
  CHECK(thrown.error().code == ErrorCode::kFailedPrecondition);
  CHECK(thrown.error().message.find("enough") != std::string::npos);
  CHECK(cache.size() == 0);
  bool is_refused = false;
  REQUIRE(model.Forward(cache, tokens, workspace, {.observer = [&](const ResidualStream& stream) {
                          is_refused = !model.Logits(stream.values, workspace);
                        }}));
  CHECK(is_refused);
  CHECK(cache.size() == 3);
}

}  // namespace observer_test
}  // namespace skald::testing
