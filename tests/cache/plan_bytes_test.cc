// SPDX-License-Identifier: Apache-2.0
//
// Plans and tables as bytes: what is written is read again, and damaged bytes are an error or something that can be
// carried out without harm.

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/blocks/table_bytes.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/plan_check.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace plan_bytes_test {

constexpr RuntimeConfig kRuntime = {
    .max_tokens = 500, .cache_bytes = 1 << 20, .block_tokens = 32, .resume_point_every = 40, .rewind_tokens = 2};

std::vector<int32_t> Counting(uint32_t count) {
  std::vector<int32_t> tokens(count);
  for (uint32_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i);
  return tokens;
}

// A sequence of operations on a conversation, on a pool without bytes, and the resulting state.
struct Scene {
  explicit Scene(bool recurrent) : pool(*CreateLedgerPool(TinyLayout(recurrent), kRuntime)) {
    KVCache cache = *CreateKVCache(pool);
    Append(Batch().Add(cache, Counting(150)), 64);
    KVCache fork = *cache.Fork();
    Append(Batch().Add(cache, Counting(3)).Add(fork, Counting(30), Want::kHidden), 7);
    REQUIRE(cache.Truncate(120));
    tables.push_back(cache.table());
    if (!recurrent) REQUIRE(fork.Erase(3, 60));
    tables.push_back(fork.table());
    Append(Batch().Add(fork, Counting(2)).Add(cache, Counting(1)), 2);
    tables.push_back(fork.table());
  }

  void Append(const Batch& batch, uint32_t pass_tokens) {
    auto step = Step::Begin(batch, pass_tokens);
    REQUIRE(step);
    plans.push_back(step->plan());
    step->Commit();
  }

  std::shared_ptr<BlockPool> pool;
  std::vector<StepPlan> plans;
  std::vector<BlockTable> tables;
};

TEST_CASE("a pool without bytes counts blocks as one with bytes does, and takes no memory for them") {
  for (const bool recurrent : {false, true}) {
    const auto with = *CreateBlockPool(TinyLayout(recurrent), kRuntime);
    const auto without = *CreateLedgerPool(TinyLayout(recurrent), kRuntime);
    KVCache a = *CreateKVCache(with), b = *CreateKVCache(without);
    for (uint32_t i = 0; i < 3; ++i) {
      const std::vector<int32_t> tokens = Counting(70);
      Step::Begin(Batch().Add(a, tokens), 16)->Commit();
      Step::Begin(Batch().Add(b, tokens), 16)->Commit();
    }
    REQUIRE(a.Truncate(208));
    REQUIRE(b.Truncate(208));
    CHECK(a.table() == b.table());
    CHECK(*a.ResumePoints() == *b.ResumePoints());
    CHECK(with->usage().used_bytes == without->usage().used_bytes);
  }
}

TEST_CASE("plans and tables written as bytes are read as they were") {
  for (const bool recurrent : {false, true}) {
    const Scene scene(recurrent);
    for (const StepPlan& plan : scene.plans) {
      CHECK(CheckStepPlan(plan, *scene.pool));
      const std::vector<std::byte> bytes = *StepPlanToBytes(plan);
      const auto read = StepPlanFromBytes(bytes, *scene.pool);
      REQUIRE(read);
      CHECK(*StepPlanToBytes(*read) == bytes);
      CHECK(read->sequences.back().wants == plan.sequences.back().wants);
      CHECK(read->passes.size() == plan.passes.size());
    }
    for (const BlockTable& table : scene.tables) {
      const auto read = BlockTableFromBytes(*BlockTableToBytes(table), *scene.pool);
      REQUIRE(read);
      CHECK(*read == table);
    }
  }
}

TEST_CASE("other versions, other models and other limits are refused by name") {
  const Scene scene(true);
  std::vector<std::byte> bytes = *StepPlanToBytes(scene.plans[0]);
  const auto message = [&bytes](const BlockPool& pool) { return StepPlanFromBytes(bytes, pool).error().message; };
  RuntimeConfig runtime = kRuntime;
  runtime.block_tokens = 64;
  CHECK(message(*(*CreateLedgerPool(TinyLayout(true), runtime))).find("blocks of 32 tokens") != std::string::npos);
  runtime = kRuntime;
  runtime.max_tokens = 149;
  CHECK(message(*(*CreateLedgerPool(TinyLayout(true), runtime))).find("token limit") != std::string::npos);
  runtime = kRuntime;
  runtime.cache_bytes = 2000;
  CHECK(message(*(*CreateLedgerPool(TinyLayout(true), runtime))).find("cannot have") != std::string::npos);
  CHECK(message(*(*CreateLedgerPool(TinyLayout(false), kRuntime))).find("number of groups") != std::string::npos);
  CHECK(message(*(*CreateLedgerPool(CacheLayout(5), kRuntime))).find("another model") != std::string::npos);
  bytes[4] = std::byte{9};
  CHECK(StepPlanFromBytes(bytes, *scene.pool).error().code == ErrorCode::kUnsupported);
  CHECK(message(*scene.pool).find("version 9") != std::string::npos);
  bytes[0] = std::byte{9};
  CHECK(message(*scene.pool).find("no step plan") != std::string::npos);
}

// Calls use(bytes) with `bytes` cut short everywhere, and with single bits and whole words changed.
template <class Use>
void Damage(const std::vector<std::byte>& bytes, uint32_t seed, Use use) {
  for (size_t size = 0; size < bytes.size(); ++size) use(std::span(bytes).first(size));
  std::mt19937 random(seed);
  for (size_t i = 0; i < 4000; ++i) {
    std::vector<std::byte> damaged = bytes;
    for (size_t times = 1 + random() % 3; times > 0; --times) {
      const size_t at = random() % damaged.size();
      damaged[at] ^= static_cast<std::byte>(random() % 2 == 0 ? 1u << random() % 8 : random() % 256);
    }
    use(std::span<const std::byte>(damaged));
  }
}

TEST_CASE("damaged bytes are an error or pass every check") {
  for (const bool recurrent : {false, true}) {
    const Scene scene(recurrent);
    for (uint32_t i = 0; i < scene.plans.size(); ++i) {
      Damage(*StepPlanToBytes(scene.plans[i]), i, [&](std::span<const std::byte> bytes) {
        const auto plan = StepPlanFromBytes(bytes, *scene.pool);
        const bool is_sound =
            plan ? CheckStepPlan(*plan, *scene.pool).has_value()
                 : plan.error().code == ErrorCode::kDataLoss || plan.error().code == ErrorCode::kUnsupported;
        if (!is_sound) FAIL("a damaged plan was taken");
      });
    }
    for (uint32_t i = 0; i < scene.tables.size(); ++i) {
      Damage(*BlockTableToBytes(scene.tables[i]), i, [&](std::span<const std::byte> bytes) {
        const auto table = BlockTableFromBytes(bytes, *scene.pool);
        const bool is_sound =
            table ? CheckBlockTable(*table, *scene.pool).has_value()
                  : table.error().code == ErrorCode::kDataLoss || table.error().code == ErrorCode::kUnsupported;
        if (!is_sound) FAIL("a damaged table was taken");
      });
    }
  }
}

}  // namespace plan_bytes_test
}  // namespace skald::testing
