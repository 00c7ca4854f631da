// SPDX-License-Identifier: Apache-2.0
//
// For every operation on conversations of a model that several ranks compute, with rank 0 in the lead, the logits are
// those of one process.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/distributed/detail/handshake.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "tests/distributed/led_ranks.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"
#include "tests/support/targets.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace ranked_model_test {

constexpr RuntimeConfig kRuntime = {
    .max_tokens = 300, .cache_bytes = 64 << 20, .block_tokens = 32, .resume_point_every = 40, .rewind_tokens = 4};

// The same conversations twice: on ranks, and in one process.
class Twins {
 public:
  Twins(const SmallModel& small, size_t ranks)
      : small_(small), ranks_(small, ranks, 5, kRuntime), model_(small, 5), pool_(NewPool(small, kRuntime)) {}

  size_t count() const { return twins_.size(); }
  void Begin() { twins_.push_back({*CreateKVCache(ranks_.pool()), *CreateKVCache(pool_)}); }
  void Fork(size_t i) { twins_.push_back({*twins_[i].ranked.Fork(), *twins_[i].whole.Fork()}); }
  void End(size_t i) { twins_.erase(twins_.begin() + static_cast<ptrdiff_t>(i)); }
  uint32_t size(size_t i) const { return twins_[i].whole.size(); }

  void Truncate(size_t i, uint32_t tokens) {
    const bool done = twins_[i].whole.Truncate(tokens).has_value();
    CHECK(twins_[i].ranked.Truncate(tokens).has_value() == done);
  }
  void Erase(size_t i, uint32_t begin, uint32_t end) {
    const bool done = twins_[i].whole.Erase(begin, end).has_value();
    CHECK(twins_[i].ranked.Erase(begin, end).has_value() == done);
  }

  // Appends a run to some conversations.
  void Step(const std::vector<std::pair<size_t, std::vector<int32_t>>>& runs, const ForwardOptions& options) {
    Batch ranked, whole;
    for (const auto& [i, tokens] : runs) {
      ranked.Add(twins_[i].ranked, tokens, Want::kLogits);
      whole.Add(twins_[i].whole, tokens, Want::kLogits);
    }
    const auto there = ranks_.model().Forward(ranked, workspace_, options);
    REQUIRE_MESSAGE(there, there.error().message);
    const auto here = model_.Forward(whole, other_, options);
    REQUIRE(here);
    for (size_t i = 0; i < here->size(); ++i) {
      REQUIRE(std::memcmp((*here)[i].data(), (*there)[i].data(), (*here)[i].size_bytes()) == 0);
    }
  }

 private:
  struct Twin {
    KVCache ranked, whole;
  };

  const SmallModel& small_;
  LedRanks ranks_;
  RandomModel model_;
  std::shared_ptr<BlockPool> pool_;
  Workspace workspace_ = *CreateWorkspace({.threads = 1}), other_ = *CreateWorkspace({.threads = 1});
  std::vector<Twin> twins_;
};

SKALD_LAW("conversations on ranks go as in one process, whatever is done to them", small) {
  for (const size_t ranks : {2u, 3u}) {
    CAPTURE(ranks);
    Twins twins(small, ranks);
    std::minstd_rand random(static_cast<uint32_t>(ranks));
    const auto pick = [&](uint32_t low, uint32_t high) {
      return low + static_cast<uint32_t>(random()) % (high - low + 1);
    };
    for (size_t round = 0; round < 25; ++round) {
      if (twins.count() < 2) twins.Begin();
      const size_t one = pick(0, static_cast<uint32_t>(twins.count()) - 1);
      const uint32_t size = twins.size(one);
      if (twins.count() < 4 && pick(0, 2) == 0) twins.Fork(one);
      if (pick(0, 3) == 0) twins.Truncate(one, size - pick(0, std::min(size, 4u)));
      if (size > 60 && pick(0, 4) == 0) twins.Erase(one, 5, pick(6, 50));
      std::vector<std::pair<size_t, std::vector<int32_t>>> runs;
      for (size_t i = 0; i < twins.count(); ++i) {
        const uint32_t tokens = pick(0, 2) == 0 ? pick(1, 40) : 1;
        if (pick(0, 3) != 0 && twins.size(i) + tokens <= kRuntime.max_tokens) {
          runs.emplace_back(i, RandomTokens(small, random(), tokens));
        }
      }
      if (!runs.empty()) twins.Step(runs, {.pass_tokens = pick(1, 40)});
      if (twins.count() > 2 && pick(0, 4) == 0) twins.End(one);
    }
  }
}

TEST_CASE("what ranks cannot do is refused, and they go on") {
  const SmallModel& small = SmallModels()[0];
  LedRanks ranks(small, 2, 5, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(ranks.pool()), foreign = NewCache(small, kRuntime);
  const std::vector<int32_t> tokens = {1, 2, 3}, odd = {1, -7};
  const auto forward = [&](KVCache& to, std::span<const int32_t> run, const ForwardOptions& options = {}) {
    return ranks.model().Forward(to, run, workspace, options);
  };
  CheckError(forward(foreign, tokens), ErrorCode::kInvalidArgument, "CreatePool");
  CheckError(forward(cache, odd), ErrorCode::kInvalidArgument, "-7");
  CHECK(cache.size() == 0);
  CHECK(forward(cache, tokens));
  CHECK(cache.size() == 3);
}

SKALD_LAW("what hooks on rank 0 make of rows all ranks go on with", small) {
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 30);
  const std::vector<Want> wants(tokens.size(), Want::kLogits);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto steer = [](const HookRows& rows) {
    for (size_t i = 0; i < rows.rows(); ++i) rows.row(i)[rows.place.block % 3] += 0.5f;
  };
  const ForwardOptions options = {.pass_tokens = 20, .hooks = {{"*", steer}}};
  const auto logits = [&](const auto& model, const std::shared_ptr<BlockPool>& pool) {
    KVCache cache = *CreateKVCache(pool);
    const auto outputs = model.Forward(Batch().Add(cache, tokens, wants), workspace, options);
    REQUIRE_MESSAGE(outputs, outputs.error().message);
    std::vector<float> all;
    for (size_t i = 0; i < outputs->size(); ++i) all.insert(all.end(), (*outputs)[i].begin(), (*outputs)[i].end());
    return all;
  };
  const std::vector<float> expected = logits(RandomModel(small, 5), NewPool(small, kRuntime));
  for (const size_t ranks : {2u, 3u}) {
    const LedRanks led(small, ranks, 5, kRuntime);
    CHECK((logits(led.model(), led.pool()) == expected));
  }
}

TEST_CASE("a hook that throws, fails or stops ends the step on all ranks, and they go on") {
  const LedRanks ranks(SmallModels()[0], 3, 5, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(ranks.pool());
  const std::vector<int32_t> tokens = {1, 2, 3};
  const auto forward = [&](const char* place, const std::function<void(HookRows&)>& call) {
    return ranks.model().Forward(cache, tokens, workspace, {.hooks = {{"stream.*", [](HookRows&) {}}, {place, call}}});
  };
  for (const char* const place : {"stream.0", "stream.1", "block.0.input", "block.0.queries", "block.0.mixed",
                                  "block.0.output", "block.0.added", "logits"}) {
    CheckError(forward(place, [](HookRows&) { throw std::runtime_error("enough"); }), ErrorCode::kFailedPrecondition,
               "enough");
    CheckError(forward(place, [](HookRows& rows) { rows.Fail("enough"); }), ErrorCode::kFailedPrecondition,
               std::string("the hook at ") + place + ": enough");
    const auto stopped = forward(place, [](HookRows& rows) { rows.Stop(); });
    CHECK(stopped);
    CHECK(stopped->empty());
    CHECK(cache.size() == 0);
  }
  CheckError(forward("block.0.querys", [](HookRows&) {}), ErrorCode::kInvalidArgument, "block.0 has input, ");
  CHECK(ranks.model().Forward(cache, tokens, workspace));
}

TEST_CASE("a rank that computes other bits, and so one whose SIMD target has no FMA, is named") {
  for (const int64_t target : FmaTargets()) {
    const ScopedTarget scoped(target);
    CHECK(internal::ProbeArithmetic() == internal::FactsOf(RandomModel(SmallModels()[0], 5).weights()).arithmetic);
  }
  if (const int64_t without = HWY_TARGETS & hwy::SupportedTargets() & (HWY_SSE4 | HWY_SSSE3 | HWY_SSE2); without != 0) {
    const uint64_t with = internal::ProbeArithmetic();
    const ScopedTarget scoped(without & -without);
    CHECK(internal::ProbeArithmetic() != with);
  }
  auto ends = CreateThreadRanks(2, std::chrono::seconds(60));
  std::vector<Result<void>> met(2);
  const auto meet = [&](size_t rank) {
    const CommunicatorRef end(ends[rank]);
    met[rank] = internal::CompareFacts(end, {.arithmetic = internal::ProbeArithmetic() + rank, .ranks = 2});
  };
  std::thread other(meet, 1);
  meet(0);
  other.join();
  for (const Result<void>& result : met) {
    CheckError(result, ErrorCode::kInvalidArgument, "rank 1 has another arithmetic (a processor without FMA");
  }
}

// The reports of both of two ranks, the first of which has a share of the first small model's weights.
std::string Meet(const SmallModel& of_follower, ModelWeights weights_of_follower) {
  const SmallModel& small = SmallModels()[0];
  auto ends = CreateThreadRanks(2, std::chrono::seconds(60));
  Result<void> followed;
  std::thread follower([&] {
    const CommunicatorRef end(ends[1]);
    const RandomModel model(of_follower, std::move(weights_of_follower));
    Workspace workspace = *CreateWorkspace({.threads = 1});
    followed = FollowRanks(model.any(), end, workspace);
  });
  std::string led_says;
  {
    const CommunicatorRef end(ends[0]);
    const RandomModel model(small, *RandomWeights(small.spec, 5, DType::kBF16, 1, end.share()));
    const auto led = RankedModel::Create(model.any(), end);
    if (!led) led_says = led.error().message;
  }
  follower.join();
  CHECK(led_says == (followed ? std::string() : followed.error().message));
  return led_says;
}

TEST_CASE("a rank with other weights, another model or another share is named") {
  const SmallModel &small = SmallModels()[0], &other = SmallModels()[1];
  const auto says = [](const SmallModel& of_follower, uint64_t seed, size_t ranks) {
    return Meet(of_follower, *RandomWeights(of_follower.spec, seed, DType::kBF16, 1, {1, ranks}));
  };
  CHECK(says(small, 5, 2).empty());
  CHECK(says(small, 6, 2).find("rank 1 has other weights") == 0);
  CHECK(says(other, 5, 2).find("rank 1 has another model") == 0);
  CHECK(says(small, 5, 3).find("rank 1 has") == 0);
}

TEST_CASE("a rank with a tuned model beside its base is named, whichever matrix was tuned") {
  const SmallModel& small = SmallModels()[0];
  const TemporaryFolder folder;
  size_t tuned = 0;
  for (size_t place = 0;; ++place) {
    CAPTURE(place);
    ModelWeights whole = *RandomWeights(small.spec, 5, DType::kBF16);
    std::vector<Matrix*> matrices;
    const ParameterList list = ParametersOf(whole);
    for (const Parameter& parameter : list.parameters()) {
      if (const auto* matrix = std::get_if<MatrixParameter>(&parameter.value)) matrices.push_back(matrix->target);
    }
    if (place == matrices.size()) break;
    for (std::byte& byte : std::span(matrices[place]->data.data(), matrices[place]->data.size())) byte ^= std::byte{1};
    const auto path = folder.path() / std::to_string(place);
    REQUIRE(WritePackedFile(path, list, {"tuned", Fingerprint(small.spec), DType::kBF16}));
    auto part = LoadWeights(path, small.spec, "tuned", {.share = {1, 2}, .packed_check = PackedCheck::kNever});
    REQUIRE(part);
    CHECK(Meet(small, std::move(*part)).find("rank 1 has other weights") == 0);
    ++tuned;
  }
  CHECK(tuned > 8);
}

TEST_CASE("a rank that multiplies or rounds the inputs of a matrix otherwise is named, whichever matrix it is") {
  const SmallModel& small = SmallModels()[0];
  const TemporaryFolder folder;
  size_t changed = 0;
  ModelWeights whole = *RandomWeights(small.spec, 5, DType::kBF16);
  ModelWeights rounded = *RandomWeights(small.spec, 5, DType::kBF16, 1, {1, 2});
  const ParameterList list = ParametersOf(whole), of_rank = ParametersOf(rounded);
  for (size_t i = 0; i < list.parameters().size(); ++i) {
    CAPTURE(i);
    const auto* const parameter = std::get_if<MatrixParameter>(&list.parameters()[i].value);
    if (parameter == nullptr || parameter->looked_up || parameter->dtype) continue;
    Matrix& matrix = *parameter->target;
    const std::vector<float> factors(matrix.cols, 2.0f);
    Matrix plain(matrix.rows, matrix.cols, matrix.dtype);
    std::memcpy(plain.data.data(), matrix.bytes(), plain.data.size());
    Matrix with_factors(matrix.rows, matrix.cols, matrix.dtype, {{}, factors});
    std::memcpy(with_factors.data.data(), matrix.bytes(), plain.data.size());
    matrix = std::move(with_factors);
    const auto path = folder.path() / std::to_string(i);
    REQUIRE(WritePackedFile(path, list, {"changed", Fingerprint(small.spec), DType::kBF16}));
    matrix = std::move(plain);
    auto part = LoadWeights(path, small.spec, "changed", {.share = {1, 2}, .packed_check = PackedCheck::kNever});
    REQUIRE(part);
    CHECK(Meet(small, std::move(*part)).find("rank 1 has other weights") == 0);
    const uint64_t as_it_is = internal::FactsOf(rounded).weights;
    bool& row_scale = std::get<MatrixParameter>(of_rank.parameters()[i].value).target->row_scale;
    row_scale = true;
    CHECK(internal::FactsOf(rounded).weights != as_it_is);
    row_scale = false;
    ++changed;
  }
  CHECK(changed > 4);
}

}  // namespace ranked_model_test
}  // namespace skald::testing
