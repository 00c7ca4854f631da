// SPDX-License-Identifier: Apache-2.0
//
// The cost of rewinding recurrent layers: steps that verify eight drafted tokens of which some are rejected, with
// states kept and with inputs replayed. Four layers of a real model each, with weights; `bytes` is the largest size of
// the cache of one conversation.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "skald/cache/create.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/model/workspace.h"

namespace skald {
namespace {

constexpr uint32_t kDrafts = 8;
constexpr size_t kLayers = 4;

// Models differ in nothing but their layers.
AnyModel ModelOf(const LayerSpec& layer, int model_dim) {
  ModelSpec spec = {.model_dim = model_dim, .vocab_size = 32, .tied_embeddings = true};
  for (uint32_t i = 0; i < kLayers; ++i) spec.blocks.push_back({.number = i, .layers = {layer}});
  return AnyModel("layers", RandomWeights(spec, 1).value(), StandardLayers::Functions());
}

// Made once: that takes longer than what is measured.
const AnyModel& Mamba2Of2_7B() {
  static const AnyModel model =
      ModelOf(Mamba2{.heads = 80, .head_dim = 64, .state_dim = 128, .groups = 1, .conv_width = 4}, 2560);
  return model;
}
const AnyModel& DeltaNetOfQwen3Next() {
  static const AnyModel model = ModelOf(
      GatedDeltaNet{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv_width = 4}, 2048);
  return model;
}

CacheLayout LayoutFor(const AnyModel& model, bool replays) {
  const CacheLayout all = LayoutOf(model.spec());
  CacheLayout layout(all.model());
  for (const LayerSlot& slot : all.layers()) {
    CacheGroup group = all.groups()[slot.group];
    if (!replays) group.input_floats = 0;
    layout.AddLayer(group);
  }
  return layout;
}

// Verifies drafts again and again, range(0) of them rejected.
void Verify(benchmark::State& state, const AnyModel& (*model_of)(), bool replays) {
  const AnyModel& model = model_of();
  Workspace workspace = CreateWorkspace({.threads = 2}).value();
  KVCache cache =
      CreateKVCache(LayoutFor(model, replays), {.max_tokens = kMaxTokens, .rewind_tokens = kDrafts}).value();
  const std::vector<int32_t> drafts(kDrafts, 7);
  const auto rejected = static_cast<uint32_t>(state.range(0));
  uint64_t bytes = 0;
  const auto step = [&] {
    if (!model.Forward(cache, drafts, workspace)) std::abort();
    bytes = std::max(bytes, cache.pool()->usage().used_bytes);
    if (!cache.Truncate(cache.size() - rejected)) std::abort();
  };
  for (int i = 0; i < 10; ++i) step();  // until the pool's memory is there
  for (auto _ : state) step();
  state.counters["bytes"] = static_cast<double>(bytes);
}

const bool kRegistered = [] {
  const std::pair<const char*, const AnyModel& (*)()> models[] = {{"Mamba2/2.7B", Mamba2Of2_7B},
                                                                  {"DeltaNet/Qwen3-Next", DeltaNetOfQwen3Next}};
  for (const auto& [of, model] : models) {
    for (const bool replays : {false, true}) {
      const std::string name = std::string(of) + (replays ? "/replayed" : "/states_kept");
      benchmark::RegisterBenchmark(name.c_str(), Verify, model, replays)
          ->Arg(0)
          ->Arg(4)
          ->Arg(7)
          ->Iterations(30)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace skald
