// SPDX-License-Identifier: Apache-2.0
//
// Forged plans of steps that replay a rewound recurrence: missing inputs, states that nothing leads to and blocks
// beyond the pool are refused before anything is read.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace forged_plan_test {

constexpr uint32_t kStates = 1, kInputs = 2;  // groups of the layout below

// A conversation of 150 tokens was rewound by one, and goes on with three: its state is computed again from that of
// 148 tokens and the input of one more.
struct Scene {
  Scene() {
    KVCache cache = *CreateKVCache(pool);
    Append(cache, 150);
    REQUIRE(cache.Truncate(149));
    Append(cache, 3);
    REQUIRE(replayed().groups[kStates].first_token == 148);
    REQUIRE(replayed().groups[kInputs].blocks.size() == 1);
  }

  void Append(KVCache& cache, size_t count) {
    auto step = Step::Begin(Batch().Add(cache, std::vector<int32_t>(count, 1)), 64);
    REQUIRE(step);
    plan = step->plan();
    step->Commit();
  }

  SequencePlan& replayed() { return plan.sequences[0]; }

  // The save of a group's state after so many tokens.
  StateSave& Save(uint32_t group, uint32_t tokens) {
    for (StateSave& save : replayed().saves) {
      if (save.group == group && save.tokens == tokens) return save;
    }
    FAIL("no such save");
    return replayed().saves.front();
  }

  std::shared_ptr<BlockPool> pool =
      *CreateLedgerPool(ToyLayout(0, /*recurrent=*/false, /*replayed=*/true),
                        {.max_tokens = 500, .cache_bytes = 1 << 20, .block_tokens = 32, .rewind_tokens = 2});
  StepPlan plan;
};

TEST_CASE("a plan that replays is read as it was written") {
  Scene scene;
  const std::vector<std::byte> bytes = *StepPlanToBytes(scene.plan);
  const auto read = StepPlanFromBytes(bytes, *scene.pool);
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  CHECK(*StepPlanToBytes(*read) == bytes);
}

TEST_CASE("forged replays are refused") {
  const auto check = [](const std::string& message, const std::function<void(Scene&)>& forge) {
    Scene scene;
    forge(scene);
    const auto read = StepPlanFromBytes(*StepPlanToBytes(scene.plan), *scene.pool);
    REQUIRE(!read);
    CHECK(read.error().code == ErrorCode::kDataLoss);
    CHECK(read.error().message == "sequence 0 of the step plan " + message);
    CHECK(read.error().facts.sequence == 0);
  };
  check("lacks inputs that it replays", [](Scene& s) { s.replayed().groups[kInputs].blocks.clear(); });
  check("lacks inputs that it replays", [](Scene& s) { ++s.replayed().groups[kInputs].first_token; });
  check("lacks inputs that it replays", [](Scene& s) { --s.replayed().groups[kInputs].first_token; });
  check("lacks inputs that it replays", [](Scene& s) {  // of more tokens than it has inputs of
    --s.replayed().groups[kStates].first_token, --s.replayed().groups[kInputs].first_token;
  });
  check("names a block that the pool cannot have",
        [](Scene& s) { s.replayed().groups[kInputs].blocks[0] = static_cast<BlockId>(s.pool->max_blocks(kInputs)); });
  check("names a block that the pool cannot have",
        [](Scene& s) { s.replayed().groups[kStates].blocks[0] = static_cast<BlockId>(s.pool->max_blocks(kStates)); });
  check("names a block that the pool cannot have",
        [](Scene& s) { s.Save(kStates, 149).block = static_cast<BlockId>(s.pool->max_blocks(kStates)); });
  check("names a block that the pool cannot have",
        [](Scene& s) { s.Save(kInputs, 152).block = static_cast<BlockId>(s.pool->max_blocks(kInputs)); });
  check("does not name the state that it begins with", [](Scene& s) { s.replayed().groups[kStates].blocks.clear(); });
  check("does not name the state that it begins with",
        [](Scene& s) { s.replayed().groups[kStates].first_token = 150; });
  check("does not name the state that it begins with", [](Scene& s) { s.Save(kStates, 149).tokens = 150; });
  check("saves states out of order",
        [](Scene& s) { s.replayed().groups[kStates].first_token = s.replayed().groups[kInputs].first_token = 149; });
  check("does not save the state that it ends with", [](Scene& s) { s.Save(kStates, 152).tokens = 153; });
  check("keeps inputs of tokens that it does not compute", [](Scene& s) { s.Save(kInputs, 152).tokens = 153; });
  check("keeps inputs of tokens that it does not compute", [](Scene& s) { s.Save(kInputs, 150).tokens = 149; });
}

}  // namespace forged_plan_test
}  // namespace skald::testing
