// SPDX-License-Identifier: Apache-2.0
//
// However many ranks compute a model together, the logits are those of one process, bit for bit.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/distributed/communicators/thread_ranks.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/model/load.h"
#include "tests/distributed/changed_model.h"
#include "tests/support/quantised_types.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace one_answer_of_ranks_test {

constexpr RuntimeConfig kRuntime = {
    .max_tokens = 200, .cache_bytes = 64 << 20, .block_tokens = 32, .resume_point_every = 20, .rewind_tokens = 3};

// The reference run in one process: a prompt in two pieces, single tokens, a rewind, and a second conversation in the
// batch.
std::vector<float> Converse(const SmallModel& small, const RandomModel& model, const CacheLayout& layout,
                            const CommunicatorRef* ranks) {
  const auto pool = *CreateBlockPool(layout, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const ForwardOptions options = {.pass_tokens = 16, .ranks = ranks};
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> tokens = RandomTokens(small, 3, 90);
  std::vector<float> all;
  const auto keep = [&](const Result<Outputs>& outputs) {
    if (!outputs) return all.push_back(-1.0f);  // doctest's macros are for one thread
    for (size_t i = 0; i < outputs->size(); ++i) all.insert(all.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  };
  const auto piece = [&](size_t begin, size_t count) { return std::span(tokens).subspan(begin, count); };
  keep(model.Forward(Batch().Add(a, piece(0, 40), Want::kLogits), workspace, options));
  keep(model.Forward(Batch().Add(a, piece(40, 7), Want::kLogits).Add(b, piece(3, 5), Want::kHidden), workspace,
                     options));
  for (size_t i = 0; i < 3; ++i) {
    keep(model.Forward(Batch().Add(a, piece(47 + i, 1)).Add(b, piece(9 + i, 1)), workspace, options));
  }
  KVCache fork = *a.Fork();
  if (fork.Truncate(40)) keep(model.Forward(Batch().Add(fork, piece(70, 2)), workspace, options));
  keep(model.Forward(Batch().Add(a, piece(60, 9)), workspace, options));
  KVCache back = *a.Fork();
  if (back.Truncate(a.size() - 2)) keep(model.Forward(Batch().Add(back, piece(80, 3)), workspace, options));
  return all;
}

std::vector<float> ConverseOnRanks(const SmallModel& small, DType type, size_t ranks) {
  std::vector<ThreadRank> ends = CreateThreadRanks(ranks);
  std::vector<std::vector<float>> of_ranks(ranks);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const CommunicatorRef end(ends[r]);
      const RandomModel model(small, *RandomWeights(small.spec, 5, type, 1, end.share()));
      of_ranks[r] = Converse(small, model, LayoutOf(small.spec, end.share()), &end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& one : of_ranks) CHECK((one == of_ranks[0]));
  return of_ranks[0];
}

void CheckRanks(const SmallModel& small) {
  const std::vector<float> expected = Converse(small, RandomModel(small, 5), small.layout, nullptr);
  for (const size_t ranks : {1u, 2u, 3u, 4u}) {
    CAPTURE(ranks);
    CHECK((ConverseOnRanks(small, DType::kBF16, ranks) == expected));
  }
}

SKALD_LAW("any number of ranks gives the bits of one process", small) { CheckRanks(small); }

TEST_CASE("so it does where the value heads of a key head are apart") { CheckRanks(TiledDeltaNets()); }

TEST_CASE("so it does where every head is a group, and where a norm has no weight") {
  CheckRanks(ChangedModel<Mamba2>("small-mamba2", [](Mamba2& layer) { layer.groups = 4; }));
  CheckRanks(ChangedModel<Mamba2>("hybrid-mixture", [](Mamba2& layer) { layer.norm.weight = false; }));
  CheckRanks(ChangedModel<Mamba2>("small-mamba2", [](Mamba2& layer) { layer.norm.weight = false; }));
}

}  // namespace one_answer_of_ranks_test
}  // namespace skald::testing
