// SPDX-License-Identifier: Apache-2.0
//
// Workspaces used as they should not be: by two threads at once, in a child of fork(), after they were moved from, with
// executors that throw or boast.

#include "skald/model/workspace.h"

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/child_process.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace workspace_test {

constexpr RuntimeConfig kRuntime = {.block_tokens = 32};

const SmallModel& Hybrid() { return SmallModelNamed("hybrid"); }

const RandomModel& SharedModel() {
  static const RandomModel model(Hybrid(), 7);
  return model;
}
const std::vector<int32_t>& Prompt() {
  static const std::vector<int32_t> tokens = RandomTokens(Hybrid(), 1, 90);
  return tokens;
}
std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

const std::vector<float>& Expected() {
  static const std::vector<float> logits = [] {
    KVCache cache = NewCache(Hybrid(), kRuntime);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    return Copy(*SharedModel().Forward(cache, Prompt(), workspace));
  }();
  return logits;
}

// Does all the work itself, and something else first.
struct CuriousExecutor {
  size_t workers = 2;
  std::function<void()> before = [] {};

  size_t num_workers() const { return workers; }
  void Run(size_t num_tasks, TaskRef task) {
    before();
    for (size_t i = 0; i < num_tasks; ++i) task(i);
  }
};

TEST_CASE("a workspace that one thread computes with refuses another, which does no harm") {
  CuriousExecutor executor;
  Workspace workspace = *CreateWorkspace(executor);
  KVCache cache = NewCache(Hybrid(), kRuntime), other = NewCache(Hybrid(), kRuntime);
  std::optional<Error> error;
  executor.before = [&] {
    std::thread([&] {
      const auto refused = SharedModel().Forward(other, Prompt(), workspace);
      error = refused ? Error{ErrorCode::kDataLoss, "not refused"} : refused.error();
    }).join();
  };
  const auto logits = SharedModel().Forward(cache, Prompt(), workspace);
  REQUIRE(logits);
  CHECK(Copy(*logits) == Expected());
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kFailedPrecondition);
  CHECK(error->message.find("another thread is computing with this workspace") != std::string::npos);
  CHECK(other.size() == 0);
  executor.before = [] {};
  CHECK(Copy(*SharedModel().Forward(other, Prompt(), workspace)) == Expected());
}

// The thread sanitizer does not bear threads of a child of fork().
#ifdef __SANITIZE_THREAD__
constexpr uint32_t kThreadsOfChild = 1;
#else
constexpr uint32_t kThreadsOfChild = 3;
#endif

TEST_CASE("in a child of fork() a workspace computes, and ends, without its threads") {
  REQUIRE(Expected().size() == static_cast<size_t>(Hybrid().spec.vocab_size));
  std::optional<Workspace> workspace = *CreateWorkspace({.threads = 3});
  KVCache warm = NewCache(Hybrid(), kRuntime);
  REQUIRE(SharedModel().Forward(warm, Prompt(), *workspace));
  for (const bool computes : {true, false}) {
    ChildProcess child([&] {
      ::alarm(60);  // a hang is a failure
      KVCache cache = NewCache(Hybrid(), kRuntime);
      const bool is_same = !computes || Copy(*SharedModel().Forward(cache, Prompt(), *workspace)) == Expected();
      workspace.reset();
      // Threads of its own are not disturbed by what is left of its parent's.
      Workspace own = *CreateWorkspace({.threads = kThreadsOfChild});
      KVCache another = NewCache(Hybrid(), kRuntime);
      return is_same && Copy(*SharedModel().Forward(another, Prompt(), own)) == Expected();
    });
    CHECK(child.Wait());
  }
  KVCache cache = NewCache(Hybrid(), kRuntime);
  CHECK(Copy(*SharedModel().Forward(cache, Prompt(), *workspace)) == Expected());
}

TEST_CASE("what was moved from is refused by name") {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(Hybrid(), kRuntime), fine = NewCache(Hybrid(), kRuntime);
  const auto refused = [&](const RandomModel& model, KVCache& of, Workspace& with, const std::string& text) {
    const auto logits = model.Forward(Batch().Add(fine, Prompt()).Add(of, Prompt()), with);
    REQUIRE_FALSE(logits);
    CHECK(logits.error().code == ErrorCode::kFailedPrecondition);
    CAPTURE(logits.error().message);
    CHECK(logits.error().message.find(text) != std::string::npos);
    CHECK(fine.size() == 0);
  };
  KVCache other = std::move(cache);
  refused(SharedModel(), cache, workspace, "sequence 1 of the batch: its cache was moved from");
  CHECK_FALSE(SharedModel().Forward(cache, Prompt(), workspace));
  Workspace taken = std::move(workspace);
  refused(SharedModel(), other, workspace, "the workspace was moved from");
  RandomModel model(Hybrid(), 7);
  const RandomModel moved = std::move(model);
  refused(model, other, taken, "the model has no weights");
  CHECK(Copy(*moved.Forward(other, Prompt(), taken)) == Expected());
  workspace = std::move(taken);
  CHECK(Copy(*moved.Forward(fine, Prompt(), workspace)) == Expected());
}

TEST_CASE("an executor that throws fails the call, which changes nothing") {
  CuriousExecutor executor;
  Workspace workspace = *CreateWorkspace(executor);
  KVCache cache = NewCache(Hybrid(), kRuntime);
  int runs = 0, fatal = 0;
  executor.before = [&] {
    if (++runs == fatal) throw std::runtime_error("no more today");
  };
  for (fatal = 1;; fatal += 5, runs = 0) {
    const auto failed = SharedModel().Forward(cache, Prompt(), workspace);
    if (failed) break;
    CHECK(failed.error().message.find("no more today") != std::string::npos);
    CHECK(cache.size() == 0);
    CHECK(cache.pool()->usage().used_bytes == 0);
  }
  CHECK(fatal > 10);
  fatal = 0;
  cache.Clear();
  CHECK(Copy(*SharedModel().Forward(cache, Prompt(), workspace)) == Expected());
}

TEST_CASE("an executor may claim any number of workers") {
  for (const size_t workers : {size_t{2}, SIZE_MAX / 4 + 1, SIZE_MAX / 2, SIZE_MAX}) {
    CAPTURE(workers);
    CuriousExecutor executor{.workers = workers};
    Workspace workspace = *CreateWorkspace(executor);
    KVCache cache = NewCache(Hybrid(), kRuntime);
    CHECK(Copy(*SharedModel().Forward(cache, Prompt(), workspace)) == Expected());
  }
}

}  // namespace workspace_test
}  // namespace skald::testing
