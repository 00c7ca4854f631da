// SPDX-License-Identifier: Apache-2.0
//
// Samples of one request at different positions when an engine is suspended: each continues from its position,
// whichever of them computes the prompt again, and whichever waits for that.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/suspension/suspended.h"
#include "tests/engine/alone.h"
#include "tests/engine/run_engine.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace suspended_samples_test {

TEST_CASE("samples that have begun are not begun again by one that has not") {
  const RandomModel model(SmallModelNamed("one-layer"), 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  Request request;
  request.prompt = RandomTokens(model.small(), 1, 80);
  request.sampler = {.temperature = 0.8f, .random = {.seed = 1}};
  request.max_tokens = 12;
  request.samples = 3;
  const auto new_engine = [&](const EngineOptions& options) {
    const auto pool = NewPool(model.small(), {.max_tokens = 200, .kv_type = DType::kF32, .block_tokens = 32});
    return *Engine::Create(model, pool, workspace, options);
  };
  const auto before = new_engine({.max_running = 2, .step_tokens = 100});  // the third has to wait
  REQUIRE(before->Submit(request));
  Endings endings;
  for (int step = 0; step < 4; ++step) StepOnce(*before, endings);
  auto suspended = *DecodeSuspended(*before->Suspend(), 0.0);
  auto& samples = suspended.requests.at(0).samples;
  REQUIRE(samples.size() == 3);
  std::ranges::reverse(samples);
  REQUIRE(samples.front().drawn.empty());
  REQUIRE(samples.back().drawn.size() > 1);

  for (const uint32_t step_tokens : {8u, 100u}) {
    Endings all = endings;
    const auto after = new_engine({.max_running = 3, .step_tokens = step_tokens});
    REQUIRE(after->Resume(*EncodeSuspended(suspended, 0.0)));
    while (after->has_work()) StepOnce(*after, all);
    for (uint32_t sample = 0; sample < request.samples; ++sample) {
      const Expected alone = Alone(model, request, sample, *request.max_tokens, workspace);
      CHECK(all.at({suspended.requests[0].id, sample}).tokens == alone.tokens);
    }
  }
}

}  // namespace suspended_samples_test
}  // namespace skald::testing
