// SPDX-License-Identifier: Apache-2.0
//
// The cost of hooks: a step of one token, and a prompt of 256, without hooks, with one that reads the residual stream
// before each block, and with one at every place. `places` are those that were shown in a step.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "skald/cache/create.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/model/workspace.h"

namespace skald {
namespace {

// Eight layers of a small Llama.
const AnyModel& SmallLlama() {
  static const AnyModel model = [] {
    const Attention attention = {
        .heads = 8, .kv_heads = 4, .head_dim = 64, .rotary_dim = 64, .rope = {.base = 1e4}, .query_pre_scale = 64.0};
    ModelSpec spec = {.model_dim = 512, .vocab_size = 1000, .tied_embeddings = true};
    for (uint32_t i = 0; i < 8; ++i) {
      spec.blocks.push_back({.number = i, .layers = {attention}});
      spec.blocks.push_back({.number = i,
                             .norm_name = "post_attention_layernorm",
                             .layers = {GatedFeedForward{.width = 1536, .activation = Activation::kSilu}}});
    }
    return AnyModel("small", RandomWeights(spec, 1).value(), StandardLayers::Functions());
  }();
  return model;
}

// Computes range(0) tokens again and again, after 256 others, with a hook at `places`; empty: with none.
void Steps(benchmark::State& state, const std::string& places) {
  const AnyModel& model = SmallLlama();
  Workspace workspace = CreateWorkspace({.threads = 1}).value();
  KVCache cache = CreateKVCache(model.layout(), {.max_tokens = 1024}).value();
  const std::vector<int32_t> before(256, 7), tokens(static_cast<size_t>(state.range(0)), 8);
  if (!model.Forward(cache, before, workspace)) std::abort();
  double shown = 0;
  ForwardOptions options;
  if (!places.empty()) options.hooks = {{places, [&](const HookRows&) { ++shown; }}};
  for (auto _ : state) {
    if (!model.Forward(cache, tokens, workspace, options)) std::abort();
    if (!cache.Truncate(256)) std::abort();
  }
  state.counters["places"] = shown / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(Steps, unwatched, "")->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(Steps, logits, "logits")->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(Steps, stream, "stream.*")->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(Steps, activations, "*.activations")->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(Steps, probabilities, "*.probabilities")->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(Steps, everything, "*")->Arg(1)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace skald
