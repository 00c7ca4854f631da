// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of steps, forks, rewinds, edits, saves and failures on eight conversations of one small pool, some
// of which have adapters: each always equals, bit for bit, the same conversation recomputed from its tokens in a cache
// of its own.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/random_weights.h"
#include "tests/support/small_models.h"
#if defined(SKALD_TESTS_HAVE_STORE)
#include "skald/store/snapshots/snapshot.h"
#endif

namespace skald::testing {
namespace model_operations_test {

// A record of the operations on a conversation, enough to repeat them.
struct Append {
  std::vector<int32_t> tokens;
};
struct Rewind {
  uint32_t tokens;
};
struct Remove {
  uint32_t begin, end;
};
struct Move {
  uint32_t begin, end, to;
};
using History = std::vector<std::variant<Append, Rewind, Remove, Move>>;

struct Conversation {
  KVCache cache;
  History history;
};

constexpr uint32_t kConversations = 8;

// An adapter from a seed for every matrix that may have one.
Adapter MakeAdapter(const ModelWeights& weights, uint64_t seed) {
  Adapter adapter;
  adapter.model = Fingerprint(weights.spec);
  adapter.digest.fill(static_cast<std::byte>(seed));
  size_t number = 0;
  ThreadPool alone(1);
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
    if (matrix == nullptr || !parameter.layer) continue;
    const size_t this_number = number++;
    if (matrix->parts.front().expert) continue;
    LowRank low = {this_number, Matrix(3, matrix->cols, kAdapterType), Matrix(matrix->rows(), 3, kAdapterType)};
    internal::FillMatrix(seed + number, ExecutorRef(alone), low.a);
    internal::FillMatrix(seed - number, ExecutorRef(alone), low.b);
    adapter.low_ranks.push_back(std::move(low));
  }
  return adapter;
}

class RandomConversations {
 public:
  RandomConversations(uint32_t seed, const RandomModel& model)
      : model_(model), small_(model.small()), random_(seed), workspace_(*CreateWorkspace({.threads = Pick(1, 2)})) {
    for (const uint64_t adapter : {1, 2}) adapters_.push_back(MakeAdapter(model.weights(), adapter));
    constexpr DType kTypes[] = {DType::kBF16, DType::kF32, DType::kI8};
    RuntimeConfig runtime = {.max_tokens = 300, .kv_type = kTypes[Pick(0, 2)]};
    runtime.block_tokens = 32 * Pick(1, 2);
    runtime.resume_point_every = Pick(0, 1) * 20;
    runtime.rewind_tokens = Pick(0, 1) * Pick(1, 6);
    const BlockPool probe(small_.layout, runtime);
    for (size_t g = 0; g < probe.layout().groups().size(); ++g) {
      runtime.cache_bytes = (g == 0 ? 0 : runtime.cache_bytes) + probe.geometry(g).block_bytes() * Pick(25, 100);
    }
    pool_ = NewPool(small_, runtime);
    for (uint32_t i = 0; i < kConversations; ++i) {
      conversations_.push_back({*CreateKVCache(pool_, i % 2 == 0 ? Sha256Digest{} : adapters_[i / 2 % 2].digest), {}});
    }
  }

  void RunOneOperation() {
    Conversation& c = conversations_[Pick(0, kConversations - 1)];
    const uint32_t size = c.cache.size();
    switch (Pick(0, 7)) {
      case 0:
      case 1:
      case 2:
        return Step();
      case 3: {
        Conversation copy{*c.cache.Fork(), c.history};
        conversations_[Pick(0, kConversations - 1)] = std::move(copy);
        return;
      }
      case 4: {
        const std::vector<ResumeRange> points = *c.cache.ResumePoints();
        const ResumeRange range = points[Pick(0, static_cast<uint32_t>(points.size()) - 1)];
        const uint32_t tokens = Pick(0, 4) == 0 ? Pick(0, size) : Pick(range.first, range.last);
        if (c.cache.Truncate(tokens)) c.history.push_back(Rewind{tokens});
        return;
      }
      case 5: {
        const uint32_t begin = Pick(0, size), end = std::min(size, begin + Pick(0, 12));
        if (c.cache.Erase(begin, end)) c.history.push_back(Remove{begin, end});
        return;
      }
      case 6: {
        const uint32_t begin = Pick(0, size), end = std::min(size, begin + Pick(0, 12));
        const uint32_t to = Pick(0, size - (end - begin));
        if (c.cache.Shift(begin, end, to)) c.history.push_back(Move{begin, end, to});
        return;
      }
      case 7:
        return SaveAndLoad(c.cache);
    }
  }

  // Compares what each conversation would say next with what its recomputed twin would.
  void CheckAgainstRecomputing() {
    for (const Conversation& c : conversations_) {
      const std::vector<int32_t> probe = PickTokens(1);
      KVCache fork = *c.cache.Fork();
      const auto logits = model_.Forward(fork, probe, workspace_, options());
      if (!logits) continue;  // no room for the probe; another round will tell
      const std::vector<float> ours(logits->begin(), logits->end());
      KVCache twin = Recompute(c);
      REQUIRE(std::equal(twin.tokens().begin(), twin.tokens().end(), c.cache.tokens().begin(), c.cache.tokens().end()));
      const auto expected = model_.Forward(twin, probe, workspace_, options());
      REQUIRE(expected);
      CHECK(std::equal(ours.begin(), ours.end(), expected->begin(), expected->end()));
    }
    const PoolUsage usage = pool_->usage();
    CHECK(usage.used_bytes + usage.available_bytes == usage.limit_bytes);
  }

  void CheckNothingLeaks() {
    conversations_.clear();
    CHECK(pool_->usage().used_bytes == 0);
  }

 private:
  ForwardOptions options(uint32_t pass_tokens = 512) const {
    return {.pass_tokens = pass_tokens, .adapters = {&adapters_[0], &adapters_[1]}};
  }

  uint32_t Pick(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_() % (high - low + 1)); }

  std::vector<int32_t> PickTokens(uint32_t count) {
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = static_cast<int32_t>(Pick(0, small_.spec.vocab_size - 1));
    return tokens;
  }

  void Step() {
    std::vector<std::vector<int32_t>> tokens(conversations_.size());
    Batch batch;
    for (size_t i = 0; i < conversations_.size(); ++i) {
      if (Pick(0, 2) == 0) continue;
      tokens[i] = PickTokens(Pick(1, Pick(0, 2) == 0 ? 90 : 5));
      batch.Add(conversations_[i].cache, tokens[i]);
    }
    if (!model_.Forward(batch, workspace_, options(Pick(5, 70))))
      return;  // too much for the pool or the limit: nothing happened
    for (size_t i = 0; i < conversations_.size(); ++i) {
      if (!tokens[i].empty()) conversations_[i].history.push_back(Append{tokens[i]});
    }
  }

  // A conversation taken up from a snapshot is the same conversation. Where the pool has no room for it beside the one
  // that was saved, that one goes on; all there is room for is loaded, and maybe fewer resume points.
  void SaveAndLoad([[maybe_unused]] KVCache& cache) {
#if defined(SKALD_TESTS_HAVE_STORE)
    const SnapshotOptions options{Pick(0, 1) == 0 ? ChunkCodec::kNone : ChunkCodec::kSplitZstd};
    const Identity identity = {.adapter = cache.adapter()};
    std::vector<std::byte> bytes(*SnapshotBytes(cache, identity, {}, options));
    REQUIRE(SaveSnapshot(cache, identity, {}, std::span(bytes), options));
    auto loaded = LoadSnapshot(bytes, identity, pool_);
    if (loaded) {
      CHECK(loaded->cache.exact_tokens() == cache.exact_tokens());
      cache = std::move(loaded->cache);
    } else {
      CHECK(loaded.error().code == ErrorCode::kResourceExhausted);
    }
#endif
  }

  // Does a history again, alone, in other blocks. Without edits its tokens say all there is to know; with them, every
  // step is repeated, with a resume point at every token, so that any rewind works.
  KVCache Recompute(const Conversation& conversation) {
    const Sha256Digest& adapter = conversation.cache.adapter();
    const auto is_edit = [](const auto& operation) { return operation.index() >= 2; };
    if (std::none_of(conversation.history.begin(), conversation.history.end(), is_edit)) {
      KVCache cache = *CreateKVCache(small_.layout, {.max_tokens = 1000, .kv_type = pool_->runtime().kv_type}, adapter);
      const std::span<const int32_t> tokens = conversation.cache.tokens();
      if (!tokens.empty()) REQUIRE(model_.Forward(cache, tokens, workspace_, options()));
      return cache;
    }
    RuntimeConfig runtime = pool_->runtime();
    runtime.cache_bytes = kUnlimited;
    runtime.max_tokens = 1000;
    runtime.resume_point_every = 1;
    runtime.max_resume_points = 1000;
    KVCache cache = *CreateKVCache(small_.layout, runtime, adapter);
    for (const auto& operation : conversation.history) {
      Result<void> result;
      if (const auto* append = std::get_if<Append>(&operation)) {
        REQUIRE(model_.Forward(cache, append->tokens, workspace_, options()));
      } else if (const auto* rewind = std::get_if<Rewind>(&operation)) {
        result = cache.Truncate(rewind->tokens);
      } else if (const auto* removed = std::get_if<Remove>(&operation)) {
        result = cache.Erase(removed->begin, removed->end);
      } else if (const auto* moved = std::get_if<Move>(&operation)) {
        result = cache.Shift(moved->begin, moved->end, moved->to);
      }
      REQUIRE(result);
    }
    return cache;
  }

  const RandomModel& model_;
  const SmallModel& small_;
  std::mt19937 random_;  // its sequence is fixed by the standard
  Workspace workspace_;
  std::shared_ptr<BlockPool> pool_;
  std::vector<Adapter> adapters_;
  std::vector<Conversation> conversations_;
};

SKALD_LAW("conversations equal their recomputed twins through any sequence of operations", small) {
  const RandomModel model(small, 11);
  for (uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    RandomConversations conversations(seed, model);
    for (int round = 0; round < 8; ++round) {
      for (int operation = 0; operation < 5; ++operation) conversations.RunOneOperation();
      conversations.CheckAgainstRecomputing();
    }
    conversations.CheckNothingLeaks();
  }
}

}  // namespace model_operations_test
}  // namespace skald::testing
