// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes plans of steps from a scheduler in another process. The first byte of the input chooses a model and how the
// rest is used: as a plan, or as changes to a valid plan. An accepted plan is carried out in a pool full of others'
// blocks: it may compute nonsense, but must stay within the pool, and must be written again as the same bytes.

#define DOCTEST_CONFIG_IMPLEMENT  // the small models check what makes them
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "skald/cache/create.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "tests/fuzz/whole_or_changed.h"
#include "tests/support/small_models.h"

namespace skald {
namespace {

constexpr RuntimeConfig kRuntime = {
    .max_tokens = 200, .cache_bytes = 1 << 20, .block_tokens = 32, .resume_point_every = 50, .rewind_tokens = 3};

// A model, a pool of its own, and a step of two conversations that share blocks.
struct Scene {
  explicit Scene(const char* name) : model(testing::SmallModelNamed(name), 5) {
    const testing::SmallModel& small = model.small();
    const auto ledger = testing::NewLedgerPool(small, kRuntime);
    KVCache a = *CreateKVCache(ledger);
    const std::vector<int32_t> prompt = testing::RandomTokens(small, 1, 70);
    Step::Begin(Batch().Add(a, prompt), 64)->Commit();
    KVCache b = *a.Fork();
    tokens = testing::RandomTokens(small, 2, 8);
    const Batch batch = Batch().Add(a, std::span(tokens).first(3)).Add(b, std::span(tokens).subspan(3));
    plan = *StepPlanToBytes(Step::Begin(batch, 4)->plan());
  }

  testing::RandomModel model;
  std::shared_ptr<BlockPool> pool = testing::NewPool(model.small(), kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<int32_t> tokens;
  std::vector<std::byte> plan;
};

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald;  // NOLINT
  static doctest::Context checks;
  checks.setAsDefaultForAssertsOutOfTestCases();
  static Scene scenes[] = {Scene("all-features"), Scene("small-mamba2"), Scene("hybrid")};
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  Scene& scene = scenes[data[0] / 2 % std::size(scenes)];
  const std::vector<std::byte> bytes = testing::WholeOrChanged(data[0] % 2 != 0, scene.plan, input);
  const auto plan = StepPlanFromBytes(bytes, *scene.pool);
  if (!plan) return 0;
  if (*StepPlanToBytes(*plan) != bytes) std::abort();
  (void)scene.model.Execute(*plan, scene.tokens, *scene.pool, scene.workspace);
  return 0;
}
