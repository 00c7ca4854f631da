// SPDX-License-Identifier: Apache-2.0
//
// A program that has threads of its own lends them: any type with num_workers() and Run(n, task) is an
// Executor. This one starts threads for every operation, which is as simple as can be, and slow. The logits
// are the same bits as on Skald's own pool.
//
//   build/release/examples/14_own_executor [MODEL_FOLDER]

#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

class MyThreads {
 public:
  size_t num_workers() const { return 2; }  // how many tasks run at once

  // Calls task(0) to task(num_tasks - 1), each once, and returns when all are done.
  void Run(size_t num_tasks, skald::TaskRef task) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < num_tasks; i = next++) task(i);
    };
    std::thread helper(work);
    work();
    helper.join();
    ++runs_;
  }

  size_t runs() const { return runs_; }

 private:
  size_t runs_ = 0;
};
static_assert(skald::Executor<MyThreads>);

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(const auto tokens,
               tokenizer.Encode("Praise ye the LORD. Praise God in his sanctuary: praise him in the"));

  MyThreads threads;
  SKALD_ASSIGN(auto on_mine, skald::CreateWorkspace(threads));
  SKALD_ASSIGN(auto on_pool, skald::CreateWorkspace({.threads = 3}));

  auto one_cache = skald::CreateKVCache<DemoModel>(), other_cache = skald::CreateKVCache<DemoModel>();
  if (!one_cache || !other_cache) return skald::Failure((one_cache ? other_cache : one_cache).error());
  SKALD_ASSIGN(const auto mine, model.Forward(*one_cache, tokens, on_mine));
  SKALD_ASSIGN(const auto pools, model.Forward(*other_cache, tokens, on_pool));

  std::cout << "Forward handed " << threads.runs() << " operations to MyThreads.\nThe logits are "
            << (std::ranges::equal(mine, pools) ? "the same" : "DIFFERENT") << " on both.\n";
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
