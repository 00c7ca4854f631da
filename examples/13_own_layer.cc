// SPDX-License-Identifier: Apache-2.0
//
// A layer of your own: a struct that says its sizes, parameters, state and arithmetic once is loaded, packed, batched,
// forked, rewound and saved like the layers that Skald ships. This one is gated linear attention (Yang et al. 2023,
// arXiv:2312.06635), one head: a state matrix fades by a gate and gains key * value at each token; the query reads it.
//   build/release/examples/13_own_layer
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "skald/skald.h"

struct GatedLinearAttention {
  static constexpr std::string_view kName = "gated linear attention";
  int width = 0;  // of queries, keys and values

  friend constexpr bool operator==(const GatedLinearAttention&, const GatedLinearAttention&) = default;
  static constexpr void VisitFields(auto& self, auto&& visit) { visit("width", self.width); }
  constexpr const char* WhyImpossible() const { return width > 0 ? nullptr : "width must be positive."; }
  constexpr skald::CacheGroup State() const { return {.state_floats = static_cast<uint32_t>(width * width)}; }

  struct Weights {
    skald::Matrix input;   // [4 * width, model_dim]: queries, keys, values, gates
    skald::Matrix output;  // [model_dim, width]
  };
  // By these names the tensors are found in a checkpoint, after "model.layers.<number>.".
  void ListParameters(Weights& weights, size_t model_dim, skald::ParameterList& list) const {
    const auto w = static_cast<size_t>(width);
    list.AddMatrix(
        weights.input, model_dim,
        {{"gla.q_proj.weight", w}, {"gla.k_proj.weight", w}, {"gla.v_proj.weight", w}, {"gla.g_proj.weight", w}});
    list.AddMatrix(weights.output, w, {{"gla.o_proj.weight", model_dim}});
  }

  template <class T>
  struct Pieces {           // memory for Run
    T input, mixed, state;  // [rows, 4 * width], [rows, width], [width, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    const auto w = static_cast<size_t>(width);
    return {.input = rows * 4 * w, .mixed = rows * w, .state = w * w};
  }
  std::vector<skald::LayerPlace> Places() const { return {{"mixed", static_cast<size_t>(width)}}; }
  void Run(const Weights& weights, const skald::LayerRun& run) const {
    const auto w = static_cast<size_t>(width), rows = run.rows.size();
    const Pieces<float*> scratch = run.scratch.As<Pieces>();
    run.ops.MatMul(weights.input, run.input, rows, {}, {scratch.input, 4 * w});
    skald::ForEachRow(run.state, {scratch.state, w * w}, [&](size_t row, std::span<float> state) {
      const float *query = scratch.input + row * 4 * w, *key = query + w, *value = key + w, *gate = value + w;
      float* const sum = scratch.mixed + row * w;
      std::fill_n(sum, w, 0.0f);
      for (size_t i = 0; i < w; ++i) {
        const float keep = 1.0f / (1.0f + std::exp(-gate[i]));
        for (size_t j = 0; j < w; ++j) {
          float& s = state[i * w + j];
          s = keep * s + key[i] * value[j];
          sum[j] += query[i] * s;
        }
      }
    });
    run.Watch("mixed", {scratch.mixed, w});
    run.ops.MatMul(weights.output, {scratch.mixed, w}, rows, {}, run.output);
  }
};

// A model of two such layers and one of attention, each before a feed-forward layer.
struct MyModel {
  static constexpr std::string_view kName = "my-model";
  using Layers = skald::LayerTypes<GatedLinearAttention, skald::Attention, skald::GatedFeedForward>;
  static constexpr skald::ModelSpec Spec() {
    const skald::Attention attention = {
        .heads = 4, .kv_heads = 2, .head_dim = 32, .rotary_dim = 32, .query_pre_scale = 32};
    skald::ModelSpec spec = {.model_dim = 128, .vocab_size = 1000, .tied_embeddings = true};
    for (uint32_t number = 0; number < 3; ++number) {
      skald::Block mixer = {.number = number}, feed_forward = {.number = number, .norm_name = "feed_forward_norm"};
      if (number < 2)
        mixer.layers.push_back(GatedLinearAttention{.width = 64});
      else
        mixer.layers.push_back(attention);
      feed_forward.layers.push_back(skald::GatedFeedForward{.width = 256});
      spec.blocks.insert(spec.blocks.end(), {mixer, feed_forward});
    }
    return spec;
  }
};

int main() {
  const skald::Model<MyModel> model(skald::RandomWeights<MyModel>(/*seed=*/1));  // or LoadModel<MyModel>(path)
  skald::Workspace workspace = skald::CreateWorkspace().value();
  skald::KVCache chat = skald::CreateKVCache<MyModel>({.resume_point_every = 4}).value();
  (void)model.Forward(chat, std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7}, workspace).value();
  skald::KVCache branch = chat.Fork().value();
  if (!branch.Truncate(4)) return 1;  // back to the resume point, of its own state too
  const float again = model.Forward(branch, std::vector<int32_t>{5, 6, 7, 8}, workspace).value()[0];
  const float straight = model.Forward(chat, std::vector<int32_t>{8}, workspace).value()[0];
  std::cout << "rewound and computed again: " << (again == straight ? "the same bits" : "other bits") << '\n';
  return again == straight ? 0 : 1;
}
