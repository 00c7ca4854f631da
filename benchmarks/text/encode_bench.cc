// SPDX-License-Identifier: Apache-2.0
//
// Short texts beside a prompt: rows packed from many texts of range(0) tokens, through an encoder of a published shape,
// and a prompt of 512 tokens through a decoder of the same layers. The two take turns; `ratio` is of their tokens a
// second, each in its fastest turn. Weights are random. `texts` and `prefill` are texts and tokens a second. With the
// path of an encoder in SKALD_ENCODER there are also texts of that, which encoders.py compares.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "skald/cache/create.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/families/bert/bert.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/model/workspace.h"
#include "skald/open/open_encoder.h"

namespace skald {
namespace {

constexpr size_t kPassTokens = 2048, kPromptTokens = 512;

// As all-MiniLM-L6 and bert-base, with a small vocabulary.
constexpr BertSizes kMiniLm = {.model_dim = 384,
                               .vocab_size = 1000,
                               .layers = 6,
                               .heads = 12,
                               .feed_forward_dim = 1536,
                               .positions = 512,
                               .token_types = 2};
constexpr BertSizes kBertBase = {.model_dim = 768,
                                 .vocab_size = 1000,
                                 .layers = 12,
                                 .heads = 12,
                                 .feed_forward_dim = 3072,
                                 .positions = 512,
                                 .token_types = 2};

// The same layers, which look back.
ModelSpec DecoderOf(const BertSizes& sizes) {
  ModelSpec spec = BertSpec(sizes);
  spec.token_types = 0;
  for (Block& block : spec.blocks) {
    for (LayerSpec& layer : block.layers) {
      if (const auto* const attention = layer.As<Attention>()) {
        Attention causal = *attention;
        causal.both_ways = false;
        layer = causal;
      }
    }
  }
  return spec;
}

template <class Function>
void KeepFastest(double& best, Function function) {
  const double begin = SteadySeconds();
  function();
  best = std::min(best, SteadySeconds() - begin);
}

void Encode(benchmark::State& state, const BertSizes& sizes, DType type) {
  const AnyModel encoder("encoder", RandomWeights(BertSpec(sizes), 1, type).value(), StandardLayers::Functions());
  const AnyModel decoder("decoder", RandomWeights(DecoderOf(sizes), 1, type).value(), StandardLayers::Functions());
  Workspace workspace = CreateWorkspace({.threads = static_cast<uint32_t>(state.range(1))}).value();
  const auto length = static_cast<size_t>(state.range(0)), count = kPassTokens / length;
  const std::vector<int32_t> tokens(kPromptTokens, 7);
  const std::vector<Want> rows(length, Want::kHidden), none(kPromptTokens, Want::kNothing);
  const std::vector<WholeText> texts(count, WholeText{std::span(tokens).first(length), rows});
  RuntimeConfig runtime = {.max_tokens = kPromptTokens};
  runtime.kv_type = type == DType::kF32 ? DType::kF32 : DType::kBF16;
  KVCache cache = CreateKVCache(decoder.layout(), runtime).value();
  double encode = std::numeric_limits<double>::infinity(), prefill = encode;
  for (auto _ : state) {
    KeepFastest(encode, [&] {
      if (!encoder.Encode(texts, workspace)) std::abort();
    });
    KeepFastest(prefill, [&] {
      cache.Clear();
      if (!decoder.Forward(Batch().Add(cache, tokens, none), workspace)) std::abort();
    });
  }
  const double of_texts = static_cast<double>(count * length) / encode;
  const double of_prompt = static_cast<double>(kPromptTokens) / prefill;
  state.counters["texts"] = static_cast<double>(count) / encode;
  state.counters["prefill"] = of_prompt;
  state.counters["ratio"] = of_texts / of_prompt;
}

void Lengths(benchmark::internal::Benchmark* bench) {
  for (const int threads : {1, 2}) {
    for (const int length : {16, 128, 512}) bench->Args({length, threads});
  }
  bench->UseRealTime()->Iterations(12);
}

BENCHMARK_CAPTURE(Encode, minilm_f32, kMiniLm, DType::kF32)->Apply(Lengths);
BENCHMARK_CAPTURE(Encode, minilm_bf16, kMiniLm, DType::kBF16)->Apply(Lengths);
BENCHMARK_CAPTURE(Encode, minilm_q8_0, kMiniLm, DType::kQ8_0)->Apply(Lengths);
BENCHMARK_CAPTURE(Encode, bert_base_f32, kBertBase, DType::kF32)->Apply(Lengths);
BENCHMARK_CAPTURE(Encode, bert_base_bf16, kBertBase, DType::kBF16)->Apply(Lengths);

// Texts of random ids through the encoder at $SKALD_ENCODER, its pooling included.
void Model(benchmark::State& state, const char* path, DType type) {
  const auto encoder = OpenEncoder(path, {.weight_type = type, .has_text = false});
  if (!encoder) return state.SkipWithError(encoder.error().message.c_str());
  Workspace workspace = CreateWorkspace({.threads = static_cast<uint32_t>(state.range(1))}).value();
  const auto length = static_cast<size_t>(state.range(0)), count = 4 * kPassTokens / length;
  std::vector<TextIds> texts(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < length; ++k) {
      texts[i].tokens.push_back(static_cast<int32_t>(1000 + (i * 7919 + k * 104729) % 20000));
    }
  }
  const auto tried = encoder->EmbedIds(std::span(texts).first(1), workspace);
  if (!tried) return state.SkipWithError(tried.error().message.c_str());  // too long for the model, say
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    KeepFastest(best, [&] {
      if (!encoder->EmbedIds(texts, workspace)) std::abort();
    });
  }
  state.counters["texts"] = static_cast<double>(count) / best;
}

const bool kHasModel = [] {
  const char* const path = std::getenv("SKALD_ENCODER");
  if (path == nullptr) return false;
  for (const auto& [name, type] : {std::pair("model_f32", DType::kF32), std::pair("model_bf16", DType::kBF16),
                                   std::pair("model_q8_0", DType::kQ8_0)}) {
    benchmark::RegisterBenchmark(name, Model, path, type)->Apply(Lengths);
  }
  return true;
}();

}  // namespace
}  // namespace skald
