// SPDX-License-Identifier: Apache-2.0
//
// Sessions with a drafter have the tokens that they would have without, in every answer, after each rewind.

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/speculation/draft_model.h"
#include "skald/engine/speculation/new_head_drafter.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/model/any_model.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/model/workspace.h"
#include "skald/open/token_session.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace drafted_session_test {

constexpr RuntimeConfig kRuntime = {.max_tokens = 300, .kv_type = DType::kF32, .rewind_tokens = 4};

TokenSession NewSession(const RandomModel& model, std::shared_ptr<Drafter> drafter) {
  return *TokenSession::Create({.model = model,
                                .pool = NewPool(model.small(), kRuntime),
                                .drafter = std::move(drafter),
                                .workspace = {.threads = 1}});
}

// Some answers at random temperatures, some of them stopped in the middle, with tokens taken back and out between them.
std::vector<int32_t> Talk(TokenSession& session, const SmallModel& small, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<int32_t> all;
  for (int turn = 0; turn < 5; ++turn) {
    const std::vector<int32_t> prompt = RandomTokens(small, random(), 1 + random() % 90 / (turn + 1));
    AnswerOptions options;
    options.sampler.temperature = random() % 2 == 0 ? 0.0f : 0.9f;
    options.sampler.random.seed = random();
    options.max_tokens = 1 + random() % 25;
    options.end_ids = {static_cast<int32_t>(random() % 20)};
    size_t left = 1 + random() % 30;
    const auto end = session.Answer(prompt, options, [&](int32_t id) {
      all.push_back(id);
      return --left > 0;
    });
    REQUIRE_MESSAGE(end, end.error().message);
    all.push_back(static_cast<int32_t>(*end));
    const std::vector<int32_t> ids = session.ids();
    all.insert(all.end(), ids.begin(), ids.end());
    const auto size = static_cast<uint32_t>(ids.size());
    const auto kept = static_cast<uint32_t>(random() % 6);
    if (turn % 2 == 0 && size > kept) REQUIRE(session.Rewind(size - kept));
    if (turn == 3 && size > 12) REQUIRE(session.Erase(3, 7, /*recomputes=*/true));
  }
  return all;
}

SKALD_LAW("a drafter changes no answer of a session", small) {
  const RandomModel model(small, 3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<DraftHead> heads;
  heads.push_back(*RandomEagleHead(model.any(), 5));
  if (auto head = RandomPredictionHead(model.any(), 5)) heads.push_back(*std::move(head));
  if (auto head = RandomAssistantHead(model.any(), 5)) heads.push_back(*std::move(head));
  size_t accepted = 0;
  std::vector<size_t> drafted;  // by each
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    TokenSession plain = NewSession(model, nullptr);
    const std::vector<int32_t> expected = Talk(plain, small, seed);
    std::vector<std::shared_ptr<Drafter>> drafters = {
        std::make_shared<PromptLookup>(PromptLookupOptions{.longest = 3, .shortest = 1}),
        std::make_shared<DraftModel>(model, NewPool(small, kRuntime), workspace)};
    for (const DraftHead& head : heads) drafters.push_back(*NewHeadDrafter(head, kRuntime, workspace));
    drafted.resize(drafters.size());
    for (size_t i = 0; i < drafters.size(); ++i) {
      TokenSession session = NewSession(model, drafters[i]);
      CHECK(Talk(session, small, seed) == expected);
      accepted += session.statistics().accepted_tokens;
      drafted[i] += session.statistics().drafted_tokens;
    }
  }
  for (const size_t tokens : drafted) CHECK(tokens > 0);
  CHECK(accepted > 0);
}

}  // namespace drafted_session_test
}  // namespace skald::testing
