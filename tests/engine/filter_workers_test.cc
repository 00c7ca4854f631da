// SPDX-License-Identifier: Apache-2.0
//
// Filters whose work takes long: others go on, the requests that wait get just what they would get without waiting, and
// where the work fails it ends its own request.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/engine/engine.h"
#include "skald/engine/requests/filter_workers.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace filter_workers_test {

// Lets nothing through until it is open.
class Gate {
 public:
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

// Allows tokens of which the sum with the last one is even, and no more than `most`; its work waits at a gate.
class Gated final : public TokenFilter {
 public:
  Gated(int32_t vocab_size, size_t most, Gate* gate) : vocab_size_(vocab_size), most_(most), gate_(gate) {}

  Result<std::unique_ptr<TokenFilter>> Clone() const override { return std::make_unique<Gated>(*this); }
  std::shared_ptr<FilterWork> TakeWork() override {
    if (gate_ == nullptr) return nullptr;
    if (work_ == nullptr) work_ = std::make_shared<Work>(gate_);
    return work_->is_done() ? nullptr : work_;
  }
  Result<std::span<const uint64_t>> Allowed() override {
    words_.assign(static_cast<size_t>(vocab_size_ + 63) / 64, 0);
    for (int32_t id = last_ % 2; id < vocab_size_ && count_ < most_; id += 2) words_[id / 64] |= uint64_t{1} << id % 64;
    return words_;
  }
  Result<void> Accept(int32_t id) override {
    last_ = id;
    ++count_;
    work_ = nullptr;
    return {};
  }
  bool IsComplete() const override { return count_ > most_ / 2; }

 private:
  class Work final : public FilterWork {
   public:
    explicit Work(Gate* gate) : gate_(gate) {}

   private:
    void Compute() noexcept override { gate_->Wait(); }
    Gate* gate_;
  };

  int32_t vocab_size_, last_ = 0;
  size_t most_, count_ = 0;
  Gate* gate_;
  std::shared_ptr<FilterWork> work_;
  std::vector<uint64_t> words_;
};

struct Told {
  std::vector<int32_t> tokens;
  std::optional<FinishReason> finish;
  std::string error;
};

class Bench {
 public:
  explicit Bench(FilterWorkers* workers, bool drafts = false) : workspace_(*CreateWorkspace({.threads = 1})) {
    EngineOptions options;
    options.filter_workers = workers;
    if (drafts) options.drafter = &drafter_;
    auto engine = Engine::Create(model_, NewPool(small_, {.max_tokens = 400}), workspace_, options);
    REQUIRE(engine);
    engine_ = std::move(*engine);
  }

  Engine& engine() { return *engine_; }
  int32_t vocab_size() const { return small_.spec.vocab_size; }

  RequestId Submit(std::shared_ptr<const TokenFilter> filter, uint32_t samples = 1, uint32_t most = 12) {
    Request request;
    request.prompt = {1, 2, 3, 1, 2, 3, 1, 2};
    request.max_tokens = most;
    request.samples = samples;
    request.filter = std::move(filter);
    request.sampler.temperature = 1.0f;
    request.sampler.random.seed = 7;
    const auto id = engine_->Submit(std::move(request));
    REQUIRE(id);
    return *id;
  }
  // Takes a step and returns the rows that it computed.
  uint64_t Step() {
    auto report = engine_->Step();
    REQUIRE(report);
    for (Event& event : report->events) {
      Told& told = told_[{event.request, event.sample}];
      for (const SampledToken& token : event.tokens) told.tokens.push_back(token.id);
      if (event.finish) told.finish = event.finish;
      if (event.error) told.error = event.error->message;
    }
    return report->rows;
  }
  void Run() {
    while (engine_->has_work()) {
      if (Step() == 0) std::this_thread::yield();
    }
  }
  const Told& told(RequestId id, uint32_t sample = 0) { return told_[{id, sample}]; }

 private:
  const SmallModel& small_ = SmallModelNamed("one-layer");
  const RandomModel model_{small_, 6};
  Workspace workspace_;
  PromptLookup drafter_;
  std::unique_ptr<Engine> engine_;
  std::map<std::pair<RequestId, uint32_t>, Told> told_;
};

void CheckSame(const Told& a, const Told& b) {
  CHECK(a.tokens == b.tokens);
  CHECK(a.finish == b.finish);
  CHECK(a.error == b.error);
}

TEST_CASE("a request whose filter works sits out steps, others go on, and its answer is the same") {
  for (const bool drafts : {false, true}) {
    Bench alone(nullptr, drafts);
    const auto filter = [&](Gate* gate) { return std::make_shared<Gated>(alone.vocab_size(), 9, gate); };
    const RequestId first = alone.Submit(filter(nullptr), 3), second = alone.Submit(nullptr);
    alone.Run();
    CHECK(alone.told(first).finish == FinishReason::kFilter);

    Gate gate;
    FilterWorkers workers(2);
    Bench bench(&workers, drafts);
    const RequestId slow = bench.Submit(filter(&gate), 3), quick = bench.Submit(nullptr);
    for (int step = 0; step < 100 && !bench.told(quick).finish; ++step) bench.Step();
    CheckSame(bench.told(quick), alone.told(second));
    CHECK(bench.told(slow).tokens.empty());
    for (int step = 0; step < 10; ++step) CHECK(bench.Step() == 0);  // and no error: it waits
    CHECK(bench.engine().has_work());
    gate.Open();
    bench.Run();
    for (uint32_t sample = 0; sample < 3; ++sample) CheckSame(bench.told(slow, sample), alone.told(first, sample));
  }
}

TEST_CASE("a request that waits for its filter can be cancelled, and suspended") {
  Gate gate;
  FilterWorkers workers;
  Bench bench(&workers);
  const auto filter = std::make_shared<Gated>(bench.vocab_size(), 9, &gate);
  const RequestId id = bench.Submit(filter);
  for (int step = 0; step < 3; ++step) bench.Step();
  bench.engine().Cancel(id);
  bench.Step();
  CHECK(bench.told(id).finish == FinishReason::kCancelled);

  Bench alone(nullptr), other(nullptr);
  const RequestId same = alone.Submit(std::make_shared<Gated>(bench.vocab_size(), 9, nullptr));
  alone.Run();
  const RequestId moved = bench.Submit(filter);
  for (int step = 0; step < 3; ++step) bench.Step();
  const auto bytes = bench.engine().Suspend();
  REQUIRE(bytes);
  const auto resumed = other.engine().Resume(*bytes, [&](const Request&) -> Result<std::shared_ptr<const TokenFilter>> {
    return std::make_shared<Gated>(bench.vocab_size(), 9, nullptr);
  });
  REQUIRE(resumed);
  other.Run();
  CheckSame(other.told(moved), alone.told(same));
  gate.Open();
}

TEST_CASE("grammars give the same answers with workers and without, also those beyond the budget") {
  std::vector<std::string> tokens;
  Bench alone(nullptr);
  for (int32_t id = 0; id < alone.vocab_size(); ++id)
    tokens.push_back(std::string(1, static_cast<char>('a' + id % 26)));
  const auto vocabulary = *TokenVocabulary::From(tokens, {});
  // Each letter doubles the ways to read the text, and no token has the letters that would end it.
  const std::string wide = R"(root ::= x
x ::= "a" x "b" | "a" y "c" | "\u00e9"
y ::= "a" x "d" | "a" y "e" | "\u00e8")";
  for (const std::string& text :
       {std::string("root ::= [a-m]{4,7}"), std::string("root ::= ([a-f] [g-z] | [b-y])+"), wide}) {
    const auto grammar = ParseGbnf(text);
    REQUIRE(grammar);
    const auto filter = GrammarFilter::Compile(*grammar, vocabulary);
    REQUIRE(filter);
    const auto shared = std::make_shared<const GrammarFilter>(*filter);
    FilterWorkers workers;
    Bench inline_bench(nullptr), bench(&workers);
    const RequestId a = inline_bench.Submit(shared, 2, 40);
    inline_bench.Run();
    const RequestId b =
        bench.Submit(std::make_shared<const GrammarFilter>(*GrammarFilter::Compile(*grammar, vocabulary)), 2, 40);
    const RequestId beside = bench.Submit(nullptr);
    bench.Run();
    for (uint32_t sample = 0; sample < 2; ++sample) CheckSame(bench.told(b, sample), inline_bench.told(a, sample));
    CHECK(bench.told(beside).finish == FinishReason::kMaxTokens);
    if (text != wide) continue;
    CHECK(bench.told(b).finish == FinishReason::kError);
    CHECK(bench.told(b).error.find("more ways") != std::string::npos);
  }
}

TEST_CASE("tenants take turns at a worker") {
  class Noted final : public FilterWork {
   public:
    Noted(std::string name, std::vector<std::string>* list, Gate* gate)
        : name_(std::move(name)), list_(list), gate_(gate) {}

   private:
    void Compute() noexcept override {
      if (gate_ != nullptr) gate_->Wait();
      list_->push_back(name_);
    }
    std::string name_;
    std::vector<std::string>* list_;
    Gate* gate_;
  };
  std::vector<std::string> list;
  Gate gate, end;
  std::vector<std::shared_ptr<FilterWork>> kept;
  FilterWorkers workers(1);
  const auto add = [&](const std::string& tenant, Gate* at = nullptr) {
    kept.push_back(std::make_shared<Noted>(tenant, &list, at));
    workers.Add(tenant, kept.back());
  };
  add("a", &gate);
  for (int i = 0; i < 5; ++i) add("a");
  workers.Add("a", std::make_shared<Noted>("nobody's", &list, nullptr));
  add("b");
  gate.Open();
  while (!std::ranges::all_of(kept, [](const auto& work) { return work->is_done(); })) std::this_thread::yield();
  CHECK(std::ranges::find(list, "b") - list.begin() <= 2);
  CHECK(list.size() == 7);
}

}  // namespace filter_workers_test
}  // namespace skald::testing
