// SPDX-License-Identifier: Apache-2.0
//
// The law of the engine: each request gets exactly what it would get alone. Random requests come at random times to
// engines of random options on small pools; whatever is batched, shared, drafted, preempted, swapped, paused or
// cancelled around an answer, its tokens and log-probabilities are those of computing it alone.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/draft_model.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace random_schedules_test {

// Some models turn keys otherwise where contexts may be long.
constexpr uint32_t kMaxContext = 300;

// A third of all tokens may come, which ones depends on how many came before.
class EveryThird : public TokenFilter {
 public:
  explicit EveryThird(int32_t vocab_size) : vocab_size_(vocab_size), words_((vocab_size + 63) / 64) {}

  Result<std::unique_ptr<TokenFilter>> Clone() const override { return std::make_unique<EveryThird>(*this); }
  Result<std::span<const uint64_t>> Allowed() override {
    std::fill(words_.begin(), words_.end(), 0);
    for (int32_t id = 0; id < vocab_size_; ++id) words_[id / 64] |= uint64_t{Allows(id)} << id % 64;
    return words_;
  }
  Result<void> Accept(int32_t id) override {
    if (!Allows(id)) return Fail(ErrorCode::kInvalidArgument, "not allowed");
    sum_ = sum_ * 31 + static_cast<uint32_t>(id);
    return {};
  }
  bool IsComplete() const override { return false; }

 private:
  bool Allows(int32_t id) const { return (static_cast<uint32_t>(id) + sum_) % 3 == 0; }

  int32_t vocab_size_;
  uint32_t sum_ = 0;
  std::vector<uint64_t> words_;
};

struct Expected {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  FinishReason finish = FinishReason::kMaxTokens;
};

// A request computed alone, token by token, without an engine.
Expected Alone(const RandomModel& model, const Request& request, uint32_t sample, uint32_t max_tokens,
               Workspace& workspace) {
  Expected expected;
  SamplerSettings settings = request.sampler;
  settings.random.stream += sample;
  SamplerState state;
  if (request.penalize_prompt) REQUIRE(ObserveTokens(settings, request.prompt, state));
  std::unique_ptr<TokenFilter> filter;
  if (request.filter != nullptr) filter = *request.filter->Clone();
  KVCache cache = NewCache(model.small(), {.max_tokens = kMaxContext, .kv_type = DType::kF32});
  std::vector<int32_t> next = request.prompt;
  uint64_t position = request.prompt.size();
  while (expected.tokens.size() < max_tokens) {
    const auto logits = model.Forward(cache, next, workspace);
    REQUIRE(logits);
    std::vector<float> row(logits->begin(), logits->end());
    const double sum = LogSumExp(row);
    const std::vector<float> raw = row;
    if (filter != nullptr) {
      const auto allowed = *filter->Allowed();
      for (size_t i = 0; i < row.size(); ++i) {
        if (!IsAllowed(allowed, static_cast<int32_t>(i))) row[i] = -INFINITY;
      }
    }
    const auto drawn = Sample(row, settings, state, position++);
    REQUIRE(drawn);
    if (std::ranges::count(request.end_tokens, drawn->id) > 0) {
      expected.finish = FinishReason::kEndToken;
      return expected;
    }
    if (filter != nullptr) REQUIRE(filter->Accept(drawn->id));
    REQUIRE(ObserveToken(settings, drawn->id, state));
    expected.tokens.push_back(drawn->id);
    expected.logprobs.push_back(static_cast<float>(raw[static_cast<size_t>(drawn->id)] - sum));
    next = {drawn->id};
  }
  return expected;
}

// Guesses what will come, and is wrong now and then.
class Prophet : public Drafter {
 public:
  Prophet(uint32_t seed, const std::map<std::vector<int32_t>, std::vector<int32_t>>& known)
      : random_(seed), known_(known) {}

  Result<void> Draft(std::span<DraftTask> tasks) override {
    if (random_() % 20 == 0) return Fail(ErrorCode::kUnsupported, "no idea");
    for (DraftTask& task : tasks) {
      const std::vector<int32_t> tokens(task.tokens.begin(), task.tokens.end());
      const auto known = known_.lower_bound(tokens);
      if (known == known_.end()) continue;
      for (size_t i = tokens.size(); i < known->first.size() && task.drafts.size() < task.most; ++i) {
        task.drafts.push_back(random_() % 4 == 0 ? static_cast<int32_t>(random_() % 300) - 20 : known->first[i]);
      }
    }
    return {};
  }

 private:
  std::minstd_rand random_;
  const std::map<std::vector<int32_t>, std::vector<int32_t>>& known_;
};

// Fails now and then, before anything is computed, as for want of memory.
class FlakyModel {
 public:
  FlakyModel(const RandomModel& model, uint32_t seed, uint32_t one_of)
      : model_(model), random_(seed), one_of_(one_of) {}

  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    if (one_of_ > 0 && random_() % one_of_ == 0) return Fail(ErrorCode::kResourceExhausted, "no memory");
    return model_.Forward(batch, workspace, options);
  }
  const ModelSpec& spec() const { return model_.spec(); }

 private:
  const RandomModel& model_;
  mutable std::minstd_rand random_;
  uint32_t one_of_;
};

// A store that fails now and then, and loses what it had.
class FlakyStore {
 public:
  FlakyStore(MemoryStore& store, uint32_t seed, uint32_t one_of) : store_(store), random_(seed), one_of_(one_of) {}

  Result<bool> Has(const ChunkKey& key) { return Fails() ? Result<bool>(Broken()) : store_.Has(key); }
  Result<ChunkBytes> Get(const ChunkKey& key) {
    if (!Fails()) return store_.Get(key);
    return random_() % 2 == 0 ? Broken() : Fail(ErrorCode::kNotFound, "lost");
  }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) {
    return Fails() ? Result<void>(Broken()) : store_.Put(key, value);
  }
  Result<void> Drop(const ChunkKey& key) { return store_.Drop(key); }
  Result<std::vector<ChunkKey>> List() { return store_.List(); }

 private:
  bool Fails() { return one_of_ > 0 && random_() % one_of_ == 0; }
  static Failure Broken() { return Fail(ErrorCode::kFailedPrecondition, "out of reach"); }

  MemoryStore& store_;
  std::minstd_rand random_;
  uint32_t one_of_;
};

struct Watched {
  Request request;
  std::vector<Expected> expected;
  std::vector<std::vector<SampledToken>> got;
  std::vector<std::optional<FinishReason>> finish;
};

class RandomSchedule {
 public:
  RandomSchedule(uint32_t seed, const RandomModel& model, const RandomModel& smaller, Workspace& workspace)
      : random_(seed),
        model_(model),
        smaller_(smaller),
        workspace_(workspace),
        flaky_model_(model, seed, seed % 2 * 15),
        flaky_store_(store_, seed, seed % 3 * 10) {}

  void Run() {
    MakePool();
    MakeRequests();
    has_swap_ = Chance(2);
    MakeEngine();
    uint32_t idle = 0;
    while (submitted_ < watched_.size() || engine_->has_work() || !paused_.empty()) {
      REQUIRE(++idle < 20000);
      if (submitted_ < watched_.size() && (Pick(0, 3) == 0 || !engine_->has_work())) SubmitNext();
      Disturb();
      if (Chance(60)) Restart();
      auto report = engine_->Step();
      if (!report && report.error().message == "no memory") continue;
      REQUIRE_MESSAGE(report, report.error().message);
      for (Event& event : report->events) Note(event);
      REQUIRE(pool_->usage().used_bytes <= pool_->usage().limit_bytes);
    }
    for (const auto& [id, index] : ids_) Check(watched_[index]);
    CountStats();
    engine_.reset();
    prompts_.reset();
    CHECK(pool_->usage().used_bytes == 0);
    CHECK(store_.used_bytes() == 0);
  }

  const EngineStats& stats() const { return stats_; }

 private:
  uint32_t Pick(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_() % (high - low + 1)); }
  bool Chance(uint32_t one_of) { return random_() % one_of == 0; }

  void MakePool() {
    RuntimeConfig runtime = {.max_tokens = kMaxContext, .kv_type = DType::kF32, .block_tokens = 32 * Pick(1, 2)};
    runtime.rewind_tokens = Pick(0, 1) * Pick(1, 6);
    if (Chance(3)) runtime.checkpoint_every = Pick(5, 60);
    runtime.max_checkpoints = Pick(1, 3);
    // From room for a little more than one conversation to room for many.
    const auto probe = NewLedgerPool(model_.small(), runtime);
    runtime.cache_bytes = MemoryModel::Of(*probe).BytesFor(Pick(120, 200)) * Pick(5, 30) / 5;
    pool_ = NewPool(model_.small(), runtime);
    const auto capacity = CapacityOf(*pool_);
    REQUIRE(capacity);
    capacity_ = *capacity;
  }

  void MakeRequests() {
    const uint32_t vocab = static_cast<uint32_t>(model_.spec().vocab_size);
    std::vector<int32_t> shared = RandomTokens(model_.small(), random_(), 90);
    for (uint32_t count = Pick(1, 8); count > 0; --count) {
      Request request;
      request.prompt.assign(shared.begin(), shared.begin() + Pick(0, 1) * Pick(1, 90));
      const std::vector<int32_t> tail = RandomTokens(model_.small(), random_(), Pick(1, 30));
      request.prompt.insert(request.prompt.end(), tail.begin(), tail.end());
      if (request.prompt.size() + 10 > capacity_) request.prompt.resize(std::max(1u, capacity_ / 2));
      request.sampler.temperature = Chance(2) ? 0.0f : 0.8f;
      request.sampler.random.seed = Pick(0, 3);
      request.sampler.num_logprobs = 0;
      if (Chance(3)) request.sampler.presence_penalty = 0.7f;
      request.penalize_prompt = Chance(2);
      if (Chance(4)) {
        request.filter = std::make_shared<EveryThird>(model_.spec().vocab_size);
        request.note = "every third";
      }
      request.samples = Chance(4) ? Pick(2, 3) : 1;
      request.max_tokens = std::min(Pick(1, 16), capacity_ - static_cast<uint32_t>(request.prompt.size()) + 1);
      for (uint32_t ends = Pick(0, vocab / 16); ends > 0; --ends) {
        request.end_tokens.push_back(static_cast<int32_t>(Pick(0, vocab - 1)));
      }
      request.tenant = Chance(3) ? "one" : "";
      request.priority = static_cast<int32_t>(Pick(0, 2));
      if (Chance(2)) request.branch_points = {Pick(1, static_cast<uint32_t>(request.prompt.size()))};
      Watched& watched = watched_.emplace_back();
      for (uint32_t sample = 0; sample < request.samples; ++sample) {
        watched.expected.push_back(Alone(model_, request, sample, *request.max_tokens, workspace_));
        std::vector<int32_t> whole = request.prompt;
        whole.insert(whole.end(), watched.expected.back().tokens.begin(), watched.expected.back().tokens.end());
        known_[whole];
      }
      watched.got.resize(request.samples);
      watched.finish.resize(request.samples);
      watched.request = std::move(request);
    }
  }

  void CountStats() {
    const EngineStats stats = engine_->stats();
    stats_.accepted_tokens += stats.accepted_tokens;
    stats_.cached_tokens += stats.cached_tokens;
    stats_.preemptions += stats.preemptions;
    stats_.swapped_in += stats.swapped_in;
  }

  // All that is not at its end goes on in another engine, of other options.
  void Restart() {
    const auto suspended = engine_->Suspend();
    REQUIRE(suspended);
    if (engine_->has_work()) {  // those that were cancelled tell their end
      auto report = engine_->Step();
      REQUIRE(report);
      for (Event& event : report->events) Note(event);
    }
    CountStats();
    MakeEngine();
    const auto make_filter = [&](const Request& request) -> Result<std::shared_ptr<const TokenFilter>> {
      CHECK(request.note == "every third");
      return std::make_shared<EveryThird>(model_.spec().vocab_size);
    };
    const auto resumed = engine_->Resume(*suspended, make_filter);
    REQUIRE_MESSAGE(resumed, resumed.error().message);
    for (const RequestId id : paused_) engine_->Pause(id);
  }

  void MakeEngine() {
    engine_.reset();
    drafter_.reset();
    prompts_.reset();
    EngineOptions options;
    options.max_running = Pick(1, 6);
    options.step_tokens = Chance(2) ? Pick(1, 8) : Pick(16, 64);
    options.policy.policy = static_cast<Policy>(Pick(0, 3));
    options.policy.turn_tokens = 30.0;
    options.clock = [this] { return now_ += 1e-3 * static_cast<double>(random_() % 10); };
    if (Chance(2)) options.step_seconds = 1e-3 * Pick(1, 50);
    options.identity.weights[0] = std::byte{1};
    if (Chance(2)) {
      auto prompts = PromptCache::Create(pool_, options.identity);
      REQUIRE(prompts);
      prompts_ = std::move(*prompts);
      options.prompts = prompts_.get();
    }
    if (has_swap_) options.swap.emplace(flaky_store_);
    switch (Pick(0, 3)) {
      case 0:
        drafter_ = std::make_unique<PromptLookup>(PromptLookupOptions{.longest = 3, .shortest = 1});
        break;
      case 1:
        drafter_ = std::make_unique<Prophet>(static_cast<uint32_t>(random_()), known_);
        break;
      case 2: {
        RuntimeConfig runtime = {.max_tokens = kMaxContext, .rewind_tokens = Pick(0, 1) * 8};
        runtime.cache_bytes =
            MemoryModel::Of(*NewLedgerPool(model_.small(), runtime)).BytesFor(kMaxContext) * Pick(1, 4);
        drafter_ = std::make_unique<DraftModel>(Chance(2) ? model_ : smaller_, NewPool(model_.small(), runtime),
                                                draft_workspace_);
        break;
      }
    }
    options.drafter = drafter_.get();
    options.max_drafts = Pick(1, 8);
    auto engine = Engine::Create(flaky_model_, pool_, workspace_, options);
    REQUIRE_MESSAGE(engine, engine.error().message);
    engine_ = std::move(*engine);
  }

  void SubmitNext() {
    const auto id = engine_->Submit(watched_[submitted_].request);
    REQUIRE_MESSAGE(id, id.error().message);
    ids_[*id] = submitted_++;
  }

  void Disturb() {
    if (ids_.empty()) return;
    const auto any = std::next(ids_.begin(), Pick(0, static_cast<uint32_t>(ids_.size()) - 1))->first;
    if (Chance(40)) {
      engine_->Cancel(any);
      paused_.erase(any);
    }
    if (Chance(20)) {
      engine_->Pause(any);
      paused_.insert(any);
    }
    if (!paused_.empty() && (Chance(5) || !engine_->has_work())) {
      engine_->Pause(*paused_.begin(), false);
      paused_.erase(paused_.begin());
    }
  }

  void Note(Event& event) {
    Watched& watched = watched_[ids_.at(event.request)];
    REQUIRE(!watched.finish[event.sample]);
    for (SampledToken& token : event.tokens) watched.got[event.sample].push_back(std::move(token));
    watched.finish[event.sample] = event.finish;
    if (event.error) FAIL(event.error->message);
  }

  static void Check(const Watched& watched) {
    for (size_t sample = 0; sample < watched.got.size(); ++sample) {
      const Expected& expected = watched.expected[sample];
      const std::vector<SampledToken>& got = watched.got[sample];
      REQUIRE(watched.finish[sample]);
      if (*watched.finish[sample] != FinishReason::kCancelled) {
        CHECK(*watched.finish[sample] == expected.finish);
        REQUIRE(got.size() == expected.tokens.size());
      }
      REQUIRE(got.size() <= expected.tokens.size());
      for (size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].id == expected.tokens[i]);
        REQUIRE(got[i].logprob == expected.logprobs[i]);
      }
    }
  }

  std::minstd_rand random_;
  const RandomModel& model_;
  const RandomModel& smaller_;
  Workspace& workspace_;
  FlakyModel flaky_model_;
  Workspace draft_workspace_ = *CreateWorkspace({.threads = 1});
  bool has_swap_ = false;
  double now_ = 0.0;
  std::shared_ptr<BlockPool> pool_;
  uint32_t capacity_ = 0;
  MemoryStore store_{uint64_t{1} << 30};
  FlakyStore flaky_store_;
  std::unique_ptr<PromptCache> prompts_;
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<Engine> engine_;
  std::map<std::vector<int32_t>, std::vector<int32_t>> known_;
  std::vector<Watched> watched_;
  size_t submitted_ = 0;
  std::map<RequestId, size_t> ids_;
  std::set<RequestId> paused_;
  EngineStats stats_;
};

SKALD_LAW("each request gets what it would get alone, however it is scheduled", small) {
  const RandomModel model(small, 3), smaller(small, 4);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const char* const wanted = std::getenv("SKALD_SCHEDULES");
  const char* const first = std::getenv("SKALD_FIRST_SCHEDULE");
  const uint32_t begin = first != nullptr ? static_cast<uint32_t>(std::atoi(first)) : 1;
  const uint32_t count = wanted != nullptr ? static_cast<uint32_t>(std::atoi(wanted)) : 6;
  EngineStats all;
  for (uint32_t seed = begin; seed < begin + count; ++seed) {
    CAPTURE(seed);
    RandomSchedule schedule(seed, model, smaller, workspace);
    schedule.Run();
    all.accepted_tokens += schedule.stats().accepted_tokens;
    all.cached_tokens += schedule.stats().cached_tokens;
    all.preemptions += schedule.stats().preemptions;
    all.swapped_in += schedule.stats().swapped_in;
  }
  if (count < 50) return;
  // Else the law was not put to the test.
  CHECK(all.accepted_tokens > 0);
  CHECK(all.cached_tokens > 0);
  CHECK(all.preemptions > 0);
  CHECK(all.swapped_in > 0);
}

}  // namespace random_schedules_test
}  // namespace skald::testing
