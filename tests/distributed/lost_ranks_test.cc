// SPDX-License-Identifier: Apache-2.0
//
// A rank that goes at any point of a step: all others get an error in time, and every conversation is as it was.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/distributed/communicators/thread_ranks.h"
#include "skald/distributed/follow_ranks.h"
#include "skald/distributed/ranked_model.h"
#include "skald/layers/model_spec.h"
#include "skald/model/load.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace lost_ranks_test {

// A rank that goes, or hangs, instead of taking part in an exchange.
class LeavingRank {
 public:
  LeavingRank(ThreadRank end, bool hangs) : end_(end), hangs_(hangs) {}

  void LeaveAfter(size_t exchanges) { left_ = exchanges; }

  RankShare share() const { return end_.share(); }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
    if (auto here = Count(); !here) return here;
    return end_.AllGather(all, begins);
  }
  Result<void> Broadcast(std::vector<std::byte>& bytes) {
    if (auto here = Count(); !here) return here;
    return end_.Broadcast(bytes);
  }
  Result<void> Wait() { return end_.Wait(); }

 private:
  Result<void> Count() {
    if (left_-- > 0) return {};
    left_ = 0;
    if (!hangs_) end_.Leave();
    return Fail(ErrorCode::kFailedPrecondition, "this rank has gone");
  }

  ThreadRank end_;
  const bool hangs_;
  std::atomic<size_t> left_ = std::numeric_limits<size_t>::max();
};

// A rank that leaves is noticed at once. One that hangs is waited for, and so is one that has to share the processor.
constexpr std::chrono::milliseconds kLong(60'000), kPatience(3000);

// Has rank 1 go after so many exchanges of a step. Returns whether the step was done before that.
bool StepOutlives(const SmallModel& small, size_t exchanges, bool hangs) {
  auto ends = CreateThreadRanks(2, hangs ? kPatience : kLong);
  LeavingRank leaving(ends[1], hangs);
  const std::vector<int32_t> tokens = RandomTokens(small, 3, 40);
  Result<void> followed;
  std::thread follower([&] {
    const CommunicatorRef end(leaving);
    const RandomModel model(small, *RandomWeights(small.spec, 5, DType::kBF16, 1, end.share()));
    Workspace workspace = *CreateWorkspace({.threads = 1});
    followed = FollowRanks(model.any(), end, workspace);
  });
  bool is_done = false;
  {
    const CommunicatorRef end(ends[0]);
    const RandomModel part(small, *RandomWeights(small.spec, 5, DType::kBF16, 1, end.share()));
    const auto model = RankedModel::Create(part.any(), end);
    REQUIRE(model);
    const auto pool = model->CreatePool({.max_tokens = 100, .rewind_tokens = 2});
    REQUIRE(pool);
    KVCache cache = *CreateKVCache(*pool);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    REQUIRE(model->Forward(cache, std::span(tokens).first(20), workspace));
    const uint64_t used = (*pool)->usage().used_bytes;
    leaving.LeaveAfter(exchanges);
    const auto computed = model->Forward(cache, std::span(tokens).subspan(20), workspace);
    is_done = computed.has_value();
    if (!is_done) {
      const std::string& message = computed.error().message;
      CHECK_MESSAGE(message.find(hangs ? "rank 1 did not answer" : "rank 1 has left") != std::string::npos, message);
      CHECK(cache.size() == 20);
      CHECK(std::ranges::equal(cache.tokens(), std::span(tokens).first(20)));
      CHECK((*pool)->usage().used_bytes == used);
      const auto again = model->Forward(cache, std::span(tokens).first(1), workspace);
      CHECK_FALSE(again);
    }
  }
  follower.join();
  if (!is_done) CHECK_FALSE(followed);  // else it may go at the order to stop
  return is_done;
}

TEST_CASE("a rank that goes at any exchange of a step ends it on all others, and no cache is half-changed") {
  for (const SmallModel* small : {&SmallModels().front(), &SmallModels().back()}) {
    CAPTURE(small->name);
    size_t exchanges = 0;
    while (!StepOutlives(*small, exchanges, /*hangs=*/false)) ++exchanges;
    CHECK(exchanges > 5);
  }
}

TEST_CASE("a rank that hangs is given up in time") {
  for (const size_t exchanges : {0u, 1u, 3u}) CHECK_FALSE(StepOutlives(SmallModels()[0], exchanges, /*hangs=*/true));
}

}  // namespace lost_ranks_test
}  // namespace skald::testing
