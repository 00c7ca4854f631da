// SPDX-License-Identifier: Apache-2.0
//
// The law of the engine: each request gets exactly what it would get alone. Random requests come at random times to
// engines of random options on small pools; whatever is batched, shared, drafted, preempted, swapped, paused or
// cancelled around an answer, its tokens and log-probabilities are those of computing it alone. And in every step
// something happens, on pools that hold hardly more than one conversation, too.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/cache_head_drafter.h"
#include "skald/engine/speculation/draft_model.h"
#include "skald/engine/speculation/head_drafter.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/store/backends/memory_store.h"
#include "tests/distributed/led_ranks.h"
#include "tests/engine/alone.h"
#include "tests/engine/own_sampler.h"
#include "tests/engine/troubles.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace random_schedules_test {

struct Watched {
  Request request;
  std::vector<Expected> expected;
  std::vector<float> prompt_logprobs, got_prompt_logprobs;
  std::vector<float> embedding, got_embedding;
  std::vector<std::vector<SampledToken>> got;
  std::vector<std::optional<FinishReason>> finish;
  std::vector<uint64_t> logits_digests;
};

// Whether every schedule has a head that guesses.
bool HeadsOnly() { return std::getenv("SKALD_SCHEDULED_HEADS") != nullptr; }

// Of the weights.
constexpr uint64_t kSeed = 3;
// Tokens of the longest request: prompt and answer.
constexpr uint32_t kLongest = 136;

class RandomSchedule {
 public:
  // On more than one rank those compute what `model`, of seed kSeed, would. With `beside`, prompts are in a store too,
  // which other threads write and read.
  RandomSchedule(uint32_t seed, const RandomModel& model, const RandomModel& smaller, Workspace& workspace,
                 size_t ranks = 1, bool beside = false)
      : random_(seed),
        seed_(seed),
        ranks_(ranks),
        model_(model),
        smaller_(smaller),
        workspace_(workspace),
        flaky_store_(store_, seed, seed % 3 * 10) {
    if (!beside) return;
    writer_ = *BackgroundQueue::Start({.tasks = 1 + seed % 4});
    reader_ = *BackgroundQueue::Start();
    swapper_ = *BackgroundQueue::Start({.tasks = 2 + seed % 7});
  }

  void Run() {
    MakePool();
    MakeRequests();
    has_swap_ = Chance(2);
    MakeEngine();
    uint32_t idle = 0, waited = 0;
    while (submitted_ < watched_.size() || engine_->has_work() || !paused_.empty()) {
      REQUIRE(++idle < 20000);
      if (submitted_ < watched_.size() && (Pick(0, 3) == 0 || !engine_->has_work())) SubmitNext();
      Disturb();
      if (Chance(60)) Restart();
      const bool has_work = engine_->has_work();
      auto report = engine_->Step();
      if (!report && report.error().message == "no memory") continue;
      REQUIRE_MESSAGE(report, report.error().message);
      const bool gets_on = report->rows > 0 || !report->events.empty();
      const bool may_wait = reader_ != nullptr;  // for what is read beside the engine
      REQUIRE((gets_on || !has_work || may_wait));
      for (Event& event : report->events) Note(event);
      // Longer each time, as the other threads may have to wait for a processor.
      waited = gets_on ? 0 : waited + 1;
      if (report->rows == 0 && may_wait) {
        std::this_thread::sleep_for(std::chrono::microseconds(50 << std::min(waited, 9u)));
      }
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
  bool has_head() const { return head_.has_value(); }

 private:
  uint32_t Pick(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_() % (high - low + 1)); }
  bool Chance(uint32_t one_of) { return random_() % one_of == 0; }

  void MakePool() {
    RuntimeConfig runtime = RandomRuntime();
    // As often room for one to two of the longest conversations as for a little more or for many.
    const MemoryModel memory = MemoryModel::Of(*NewLedgerPool(model_.small(), runtime));
    runtime.cache_bytes = Chance(2) ? memory.BytesToReach(Pick(60, kLongest)) * Pick(10, 20) / 10
                                    : memory.BytesToReach(Pick(kLongest, 200)) * Pick(5, 30) / 5;
    if (ranks_ > 1) led_.emplace(model_.small(), ranks_, kSeed, runtime);
    pool_ = led_ ? led_->pool() : NewPool(model_.small(), runtime);
    flaky_model_.emplace(led_ ? ModelRef(led_->model()) : ModelRef(model_), model_.spec(), seed_, seed_ % 2 * 15);
    capacity_ = CapacityOf(*pool_);
  }

  RuntimeConfig RandomRuntime() {
    RuntimeConfig runtime = {.max_tokens = kMaxContext, .kv_type = DType::kF32, .block_tokens = 32 * Pick(1, 2)};
    runtime.rewind_tokens = Pick(0, 1) * Pick(1, 6);
    if (Chance(2)) runtime.resume_point_every = Pick(5, 60);
    runtime.max_resume_points = Pick(1, 3);
    return runtime;
  }

  // Another one, in which all requests have room.
  void MakePoolAnew() {
    RuntimeConfig runtime = RandomRuntime();
    const MemoryModel memory = MemoryModel::Of(*NewLedgerPool(model_.small(), runtime));
    runtime.cache_bytes = memory.BytesToReach(capacity_) * Pick(10, 20) / 10;
    pool_ = NewPool(model_.small(), runtime);
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
      // Without a draw of random_: schedules that are known stay what they are.
      if ((seed_ + count) % 4 == 0) request.own_sampler = NoTokenTwice();
      request.samples = Chance(4) ? Pick(2, 3) : 1;
      request.digest_logits = Chance(2);
      if (Chance(6)) request.prompt_logprobs = Pick(0, 1);
      if (Chance(6) && request.samples == 1) request.embedding = static_cast<PromptEmbedding>(Pick(0, 1));
      request.max_tokens = std::min(Pick(1, 16), capacity_ - static_cast<uint32_t>(request.prompt.size()) + 1);
      for (uint32_t ends = Pick(0, vocab / 16); ends > 0; --ends) {
        request.end_tokens.push_back(static_cast<int32_t>(Pick(0, vocab - 1)));
      }
      request.tenant = Chance(3) ? "one" : "";
      request.priority = static_cast<int32_t>(Pick(0, 2));
      if (Chance(2)) request.branch_points = {Pick(1, static_cast<uint32_t>(request.prompt.size()))};
      Watched& watched = watched_.emplace_back();
      if (request.embedding) {
        watched.embedding = EmbeddingAlone(model_, request, workspace_);
        watched.expected = {{.finish = FinishReason::kEmbedding}};
      } else if (request.prompt_logprobs) {
        watched.prompt_logprobs = PromptLogprobsAlone(model_, request);
      }
      for (uint32_t sample = 0; sample < request.samples && !request.embedding; ++sample) {
        watched.expected.push_back(Alone(model_, request, sample, *request.max_tokens, workspace_));
        std::vector<int32_t> whole = request.prompt;
        whole.insert(whole.end(), watched.expected.back().tokens.begin(), watched.expected.back().tokens.end());
        known_[whole];
      }
      watched.got.resize(request.samples);
      watched.finish.resize(request.samples);
      watched.logits_digests.resize(request.samples);
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
    engine_.reset();
    prompts_.reset();
    CHECK(pool_->usage().used_bytes == 0);
    if (!led_ && Chance(2)) MakePoolAnew();
    MakeEngine();
    const auto make_filter = [&](const Request& request) -> Result<std::shared_ptr<const TokenFilter>> {
      CHECK(request.note == "every third");
      return std::make_shared<EveryThird>(model_.spec().vocab_size);
    };
    const auto make_sampler = [](const Request&) -> Result<AnySampler> { return AnySampler(NoTokenTwice()); };
    const auto resumed = engine_->Resume(*suspended, make_filter, make_sampler);
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
    // As unfair as a policy may be: those of one tenant first, then by anything that stays as it is.
    if (seed_ % 5 == 0) {
      options.policy.own = [](const Standing& standing) {
        return Urgency{standing.tenant.empty() ? 1.0 : 0.0, std::fmod(standing.arrival * 7919.0, 1.0), true};
      };
    }
    options.clock = [this] { return now_ += 1e-3 * static_cast<double>(random_() % 10); };
    if (Chance(2)) options.step_seconds = 1e-3 * Pick(1, 50);
    options.identity.weights[0] = std::byte{1};
    if (writer_ != nullptr) {
      options.store_seconds = Chance(3) ? 0.0 : 1000.0;
      const PromptCacheOptions beside = {.writer = writer_.get(), .reader = reader_.get(), .fetch_bytes = 1 << 24};
      prompts_ = PromptCache::Create(pool_, options.identity, beside, {flaky_prompts_}).value();
      options.prompts = {prompts_.get()};
    } else if (Chance(2)) {
      auto prompts = PromptCache::Create(pool_, options.identity);
      REQUIRE(prompts);
      prompts_ = std::move(*prompts);
      options.prompts = {prompts_.get()};
    }
    if (has_swap_) options.swap.emplace(flaky_store_);
    options.swapper = swapper_.get();
    options.swap_bytes = uint64_t{1} << (Chance(4) ? 16 : 24);
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
    if (seed_ % 3 == 0 || HeadsOnly()) DraftWithHead();
    options.drafter = drafter_.get();
    options.max_drafts = Pick(1, 8);
    auto engine = Engine::Create(*flaky_model_, pool_, workspace_, options);
    REQUIRE_MESSAGE(engine, engine.error().message);
    engine_ = std::move(*engine);
  }

  void Take(Result<DraftHead> head) {
    if (head) head_.emplace(*std::move(head));
  }

  // Replaces the drafter by a head that reads the model, or its caches: hardly any guess is right.
  void DraftWithHead() {
    if (!head_) {
      const DType type = model_.weights().dtype;
      const uint32_t kind = seed_ / 3 % 3;
      if (kind == 1) Take(RandomPredictionHead(model_.any(), 5, type));
      if (kind == 2) Take(RandomAssistantHead(model_.any(), 5, type, model_.spec().vocab_size % 10 == 0 ? 10 : 0));
      if (!head_) Take(RandomEagleHead(model_.any(), 5, type));
    }
    if (head_->reads_cache()) {
      drafter_ = std::make_unique<CacheHeadDrafter>(*head_, draft_workspace_);
      return;
    }
    const CacheLayout& layout = head_->body().layout();
    RuntimeConfig runtime = {.max_tokens = kMaxContext, .rewind_tokens = seed_ % 2 * 8};
    runtime.cache_bytes = MemoryModel::Of(**CreateLedgerPool(layout, runtime)).BytesFor(kMaxContext) * (1 + seed_ % 4);
    drafter_ = std::make_unique<HeadDrafter>(*head_, *CreateBlockPool(layout, runtime), draft_workspace_);
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
    for (const SampledToken& token : event.prompt_tokens) {
      const size_t at = watched.got_prompt_logprobs.size() + 1;
      REQUIRE(event.sample == 0);
      REQUIRE(at < watched.request.prompt.size());
      CHECK(token.id == watched.request.prompt[at]);
      CHECK(token.top_logprobs.size() == *watched.request.prompt_logprobs);
      watched.got_prompt_logprobs.push_back(*token.logprob);
    }
    if (event.sample == 0) watched.got_embedding = std::move(event.embedding);
    watched.logits_digests[event.sample] = event.usage.logits_digest;
    watched.finish[event.sample] = event.finish;
    if (event.error) FAIL(event.error->message);
  }

  static void Check(const Watched& watched) {
    REQUIRE(watched.finish[0]);
    if (*watched.finish[0] != FinishReason::kCancelled) {
      CHECK(watched.got_prompt_logprobs == watched.prompt_logprobs);
      CHECK(watched.got_embedding == watched.embedding);
    }
    for (size_t sample = 0; sample < watched.got.size(); ++sample) {
      const Expected& expected = watched.expected[sample];
      const std::vector<SampledToken>& got = watched.got[sample];
      REQUIRE(watched.finish[sample]);
      if (*watched.finish[sample] != FinishReason::kCancelled) {
        CHECK(*watched.finish[sample] == expected.finish);
        REQUIRE(got.size() == expected.tokens.size());
        CHECK(watched.logits_digests[sample] == (watched.request.digest_logits ? expected.logits_digest : 0));
      }
      REQUIRE(got.size() <= expected.tokens.size());
      for (size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].id == expected.tokens[i]);
        REQUIRE(got[i].logprob == expected.logprobs[i]);
      }
    }
  }

  std::minstd_rand random_;
  const uint32_t seed_;
  const size_t ranks_;
  const RandomModel& model_;
  const RandomModel& smaller_;
  Workspace& workspace_;
  std::optional<LedRanks> led_;
  std::optional<FlakyModel> flaky_model_;
  Workspace draft_workspace_ = *CreateWorkspace({.threads = 1});
  bool has_swap_ = false;
  double now_ = 0.0;
  std::shared_ptr<BlockPool> pool_;
  uint32_t capacity_ = 0;
  MemoryStore store_{uint64_t{1} << 30};
  FlakyStore flaky_store_;
  MemoryStore stored_prompts_{uint64_t{1} << 30};
  FlakyStore flaky_prompts_{stored_prompts_, seed_, seed_ % 4 * 10};
  std::unique_ptr<BackgroundQueue> writer_, reader_, swapper_;  // null: no such thread
  std::unique_ptr<PromptCache> prompts_;                        // refers to these
  std::optional<DraftHead> head_;
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
  const char* const wanted = std::getenv("SKALD_SCHEDULES");
  const char* const first = std::getenv("SKALD_FIRST_SCHEDULE");
  const uint32_t begin = first != nullptr ? static_cast<uint32_t>(std::atoi(first)) : 1;
  // Activations beside these have no scale, one for each 32 elements or one for each 256.
  constexpr DType kTypes[] = {DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kMXFP4, DType::kQ4_K};
  const DType type = HeadsOnly() ? kTypes[begin / 9 % std::size(kTypes)] : DType::kBF16;
  const RandomModel model(small, kSeed, type), smaller(small, 4, type);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const uint32_t count = wanted != nullptr ? static_cast<uint32_t>(std::atoi(wanted)) : 6;
  EngineStats all;
  uint32_t with_head = 0;
  for (uint32_t seed = begin; seed < begin + count; ++seed) {
    CAPTURE(seed);
    RandomSchedule schedule(seed, model, smaller, workspace);
    schedule.Run();
    if (schedule.has_head()) ++with_head;
    all.accepted_tokens += schedule.stats().accepted_tokens;
    all.cached_tokens += schedule.stats().cached_tokens;
    all.preemptions += schedule.stats().preemptions;
    all.swapped_in += schedule.stats().swapped_in;
  }
  if (HeadsOnly()) MESSAGE("schedules with a head: ", with_head);
  if (count < 50) return;
  // Else the law was not put to the test.
  CHECK(all.accepted_tokens > 0);
  CHECK(all.cached_tokens > 0);
  CHECK(all.preemptions > 0);
  CHECK(all.swapped_in > 0);
}

SKALD_LAW("each request gets on ranks what it would get alone in one process", small) {
  const RandomModel model(small, kSeed), smaller(small, 4);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const char* const wanted = std::getenv("SKALD_SCHEDULES");
  const uint32_t count = wanted != nullptr ? static_cast<uint32_t>(std::atoi(wanted)) : 2;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    RandomSchedule(seed, model, smaller, workspace, 2 + seed % 2).Run();
  }
}

SKALD_LAW("each request gets what it would get alone while other threads write and read stores", small) {
  const RandomModel model(small, kSeed), smaller(small, 4);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const char* const wanted = std::getenv("SKALD_SCHEDULES");
  const uint32_t count = wanted != nullptr ? static_cast<uint32_t>(std::atoi(wanted)) : 3;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    RandomSchedule(seed, model, smaller, workspace, 1 + seed % 3 / 2, /*beside=*/true).Run();
  }
}

}  // namespace random_schedules_test
}  // namespace skald::testing
