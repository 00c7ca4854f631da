// SPDX-License-Identifier: Apache-2.0
//
// Usage of requests that begin alike: the tokens that one takes over from another are counted as cached, whether the
// other had computed them before or was waited for.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace shared_beginnings_test {

constexpr uint32_t kShared = 96, kPrompt = 128;

Request With(std::vector<int32_t> prompt) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = 4;
  return request;
}

TEST_CASE("tokens that a request takes over from one that it waited for count as cached") {
  const RandomModel model(SmallModelNamed("one-layer"), 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto pool = NewPool(model.small(), {.max_tokens = 1024});
  auto engine = Engine::Create(model, pool, workspace, {});
  REQUIRE(engine);
  const std::vector<int32_t> first = RandomTokens(model.small(), 1, kPrompt);
  std::vector<int32_t> second(first.begin(), first.begin() + kShared);
  for (const int32_t id : RandomTokens(model.small(), 2, kPrompt - kShared)) second.push_back(id);
  second[kShared] = first[kShared] == 1 ? 2 : 1;
  const RequestId leader = *(*engine)->Submit(With(first)), follower = *(*engine)->Submit(With(second));
  std::map<RequestId, Usage> usage;
  uint64_t rows = 0;
  while ((*engine)->has_work()) {
    const auto report = (*engine)->Step();
    REQUIRE(report);
    rows += report->rows;
    for (const Event& event : report->events) usage[event.request] = event.usage;
  }
  CHECK(rows < 2 * kPrompt);
  CHECK(usage[leader].cached_tokens == 0);
  CHECK(usage[follower].cached_tokens == kShared);
  CHECK((*engine)->stats().prompt_tokens == 2 * kPrompt);
  CHECK((*engine)->stats().cached_tokens == kShared);
}

}  // namespace shared_beginnings_test
}  // namespace skald::testing
