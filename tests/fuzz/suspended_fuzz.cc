// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the output of Engine::Suspend, as a forger may change it. The first byte of the input chooses how the rest is
// used: as suspended work, or as changes to valid work. Resumed requests must come to an end, or be cancelled, and give
// all memory back.

#define DOCTEST_CONFIG_IMPLEMENT  // the small models check what makes them
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "skald/engine/engine.h"
#include "skald/store/backends/memory_store.h"
#include "tests/fuzz/whole_or_changed.h"
#include "tests/support/small_models.h"

namespace skald {
namespace {

constexpr RuntimeConfig kRuntime = {.max_tokens = 100, .cache_bytes = 1 << 20, .block_tokens = 32};
constexpr int kSteps = 40;

// A model, its pool and a store that has the caches of the suspended work.
struct Scene {
  Scene() : model(testing::SmallModelNamed("one-layer"), 5) {
    auto engine = NewEngine();
    for (const uint32_t samples : {1u, 2u}) {
      Request request;
      request.prompt = testing::RandomTokens(model.small(), samples, 20);
      request.max_tokens = 30;
      request.samples = samples;
      request.stop_strings = {};
      request.tenant = "tenant";
      if (!engine->Submit(std::move(request))) std::abort();
    }
    for (int i = 0; i < 6; ++i) (void)engine->Step();
    work = *engine->Suspend();
  }

  std::unique_ptr<Engine> NewEngine() {
    EngineOptions options;
    options.max_running = 4;
    options.step_tokens = 32;
    options.swap.emplace(store);
    return *Engine::Create(model, pool, workspace, std::move(options));
  }

  testing::RandomModel model;
  std::shared_ptr<BlockPool> pool = testing::NewPool(model.small(), kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  MemoryStore store{uint64_t{16} << 20};
  std::vector<std::byte> work;
};

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald;  // NOLINT
  static doctest::Context checks;
  checks.setAsDefaultForAssertsOutOfTestCases();
  static Scene scene;
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  const std::vector<std::byte> bytes = testing::WholeOrChanged(data[0] % 2 != 0, scene.work, input);
  {
    const auto engine = scene.NewEngine();
    const auto ids = engine->Resume(bytes);
    if (!ids) return 0;
    for (int i = 0; i < kSteps && engine->has_work(); ++i) {
      if (!engine->Step()) std::abort();
    }
    for (const RequestId id : *ids) engine->Cancel(id);
  }
  if (scene.pool->usage().used_bytes != 0) std::abort();
  return 0;
}
