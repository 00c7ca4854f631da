// SPDX-License-Identifier: Apache-2.0
//
// A layer with state, a norm and an activation of a user's own, and a model of them beside ours: what holds for our
// types must hold for these. Their arithmetic calls no function of the C library, so that it is the same on every
// machine.

#ifndef SKALD_TESTS_SUPPORT_OWN_TYPES_H_
#define SKALD_TESTS_SUPPORT_OWN_TYPES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/base/threads/parallel.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/standard_layers.h"

namespace skald::testing {

struct Softsign {
  static constexpr std::string_view kName = "softsign";
  float sharpness = 1.5f;

  friend constexpr bool operator==(const Softsign&, const Softsign&) = default;
  static constexpr void VisitFields(auto& self, auto&& visit) { visit("sharpness", self.sharpness); }

  float operator()(float x) const { return x / (1.0f + sharpness * std::abs(x)); }
};

// Divides by the mean of the magnitudes.
struct MagnitudeNorm {
  static constexpr std::string_view kName = "magnitude norm";
  float least = 1e-3f;

  friend constexpr bool operator==(const MagnitudeNorm&, const MagnitudeNorm&) = default;
  static constexpr void VisitFields(auto& self, auto&& visit) { visit("least", self.least); }
  constexpr const char* WhyImpossible() const { return least > 0.0f ? nullptr : "least must be positive."; }

  struct Weights {
    std::vector<float> gain, shift;  // [size]
  };
  void ListParameters(Weights& weights, std::string_view name, size_t size, ParameterList& list) const {
    list.AddVector(weights.gain, {{Concat({name, ".gain"}), size}}, {.center = 1.0f});
    list.AddVector(weights.shift, {{Concat({name, ".shift"}), size}});
  }

  void Run(const Weights& weights, const NormRun& run) const {
    ParallelFor(run.ops.executor(), run.rows, run.size, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const float* const input = run.input.data + row * run.input.stride;
        float* const output = run.output.data + row * run.output.stride;
        float sum = 0.0f;
        for (size_t i = 0; i < run.size; ++i) sum += std::abs(input[i]);
        const float scale = 1.0f / (sum / static_cast<float>(run.size) + least);
        for (size_t i = 0; i < run.size; ++i) output[i] = input[i] * scale * weights.gain[i] + weights.shift[i];
      }
    });
  }
};

// A vector of memory that fades by a gate and gains a value at each token.
struct FadingMemory {
  static constexpr std::string_view kName = "fading memory";
  int width = 0;

  friend constexpr bool operator==(const FadingMemory&, const FadingMemory&) = default;
  static constexpr void VisitFields(auto& self, auto&& visit) { visit("width", self.width); }
  constexpr const char* WhyImpossible() const { return width > 0 ? nullptr : "width must be positive."; }
  constexpr CacheGroup State() const { return {.state_floats = static_cast<uint32_t>(width)}; }

  struct Weights {
    Matrix input;   // [2 * width, model_dim]: values, then gates
    Matrix output;  // [model_dim, width]
  };
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto w = static_cast<size_t>(width);
    list.AddMatrix(weights.input, model_dim, {{"memory.v_proj.weight", w}, {"memory.g_proj.weight", w}});
    list.AddMatrix(weights.output, w, {{"memory.o_proj.weight", model_dim}});
  }

  template <class T>
  struct Pieces {
    T input;   // projections, [rows, 2 * width]
    T mixed;   // outputs, [rows, width]
    T memory;  // [width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    const auto w = static_cast<size_t>(width);
    return {.input = rows * 2 * w, .mixed = rows * w, .memory = w};
  }
  std::vector<LayerPlace> Places() const { return {{"mixed", static_cast<size_t>(width)}}; }
  void Run(const Weights& weights, const LayerRun& run) const {
    const auto w = static_cast<size_t>(width), rows = run.rows.size();
    const Pieces<float*> scratch = run.scratch.As<Pieces>();
    const float* const input = scratch.input;
    run.ops.MatMul(weights.input, run.input, rows, {}, {scratch.input, 2 * w});
    ForEachRow(run.state, {scratch.memory, w}, [&](size_t row, std::span<float> memory) {
      const float *value = input + row * 2 * w, *gate = value + w;
      for (size_t i = 0; i < w; ++i) {
        const float keep = 0.5f + 0.5f * Softsign()(gate[i]);
        memory[i] = keep * memory[i] + (1.0f - keep) * value[i];
      }
      std::ranges::copy(memory, scratch.mixed + row * w);
    });
    run.Watch("mixed", {scratch.mixed, w});
    run.ops.MatMul(weights.output, {scratch.mixed, w}, rows, {}, run.output);
  }
};

// Blocks of one layer and of two side by side, ours and own ones.
struct OwnTypes {
  static constexpr std::string_view kName = "own-types";
  static constexpr int kVocabSize = 120;
  using Layers = LayerTypes<FadingMemory, Attention, FeedForwardWith<Softsign>, GatedFeedForwardWith<Softsign>>;

  static constexpr ModelSpec Spec() {
    const Attention attention = {.heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 20,
                                 .rotary_dim = 20,
                                 .window = 40,
                                 .query_pre_scale = 20.0,
                                 .head_norm = MagnitudeNorm()};
    const FadingMemory memory = {.width = 50};
    const FeedForwardWith<Softsign> feed_forward = {.width = 90, .bias = true};
    const GatedFeedForwardWith<Softsign> gated = {.width = 70, .activation = {.sharpness = 0.5f}};
    ModelSpec spec = {.model_dim = 56, .vocab_size = kVocabSize, .final_norm = MagnitudeNorm()};
    spec.blocks.push_back({.number = 0, .norm = MagnitudeNorm(), .layers = {attention, memory}});
    spec.blocks.push_back({.number = 0, .norm_name = "feed_forward_norm", .layers = {feed_forward}});
    spec.blocks.push_back(
        {.number = 1, .layers = {memory}, .post_norm = MagnitudeNorm(), .post_norm_name = "memory_norm"});
    spec.blocks.push_back({.number = 1, .norm = MagnitudeNorm(), .norm_name = "feed_forward_norm", .layers = {gated}});
    return spec;
  }
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_OWN_TYPES_H_
