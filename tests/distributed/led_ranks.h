// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a small model that are threads of the test: rank 0 is the test's own.

#ifndef SKALD_TESTS_DISTRIBUTED_LED_RANKS_H_
#define SKALD_TESTS_DISTRIBUTED_LED_RANKS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/ranks/communicator.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/distributed/communicators/thread_ranks.h"
#include "skald/distributed/follow_ranks.h"
#include "skald/distributed/ranked_model.h"
#include "skald/model/load.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"
#include "tests/support/small_models.h"

namespace skald::testing {

class LedRanks {
 public:
  // Adapters of a rank.
  using MakeAdapters = std::function<std::vector<Adapter>(const RankShare& share)>;

  LedRanks(const SmallModel& small, size_t ranks, uint64_t seed, const RuntimeConfig& runtime,
           DType type = DType::kBF16, const MakeAdapters& make_adapters = {})
      : ends_(CreateThreadRanks(ranks, std::chrono::seconds(60))), results_(ranks) {
    for (size_t r = 1; r < ranks; ++r) {
      followers_.emplace_back([this, &small, r, seed, type, make_adapters] {
        const CommunicatorRef end(ends_[r]);
        const RandomModel model(small, *RandomWeights(small.spec, seed, type, 1, end.share()));
        Workspace workspace = *CreateWorkspace({.threads = 1});
        const auto adapters = make_adapters ? make_adapters(end.share()) : std::vector<Adapter>();
        std::vector<const Adapter*> all;
        for (const Adapter& adapter : adapters) all.push_back(&adapter);
        results_[r] = FollowRanks(model.any(), end, workspace, all);
      });
    }
    const CommunicatorRef end(ends_[0]);
    own_.emplace(small, *RandomWeights(small.spec, seed, type, 1, end.share()));
    auto model = RankedModel::Create(own_->any(), end);
    REQUIRE_MESSAGE(model, model.error().message);
    model_.emplace(std::move(*model));
    const auto pool = model_->CreatePool(runtime);
    REQUIRE_MESSAGE(pool, pool.error().message);
    pool_ = *pool;
  }
  ~LedRanks() {
    pool_.reset();
    model_.reset();
    for (std::thread& follower : followers_) follower.join();
    for (const Result<void>& result : results_) CHECK_MESSAGE(result, result.error().message);
  }

  const RankedModel& model() const { return *model_; }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }

 private:
  std::vector<ThreadRank> ends_;
  std::vector<Result<void>> results_;
  std::vector<std::thread> followers_;
  std::optional<RandomModel> own_;
  std::optional<RankedModel> model_;
  std::shared_ptr<BlockPool> pool_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_DISTRIBUTED_LED_RANKS_H_
