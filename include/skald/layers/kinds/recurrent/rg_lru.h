// SPDX-License-Identifier: Apache-2.0
//
// The recurrent layer of Griffin, De et al. 2024 (arXiv:2402.19427): a real-gated linear recurrent unit over a
// convolution, multiplied by the GELU of a second projection.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RG_LRU_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RG_LRU_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/form/layout.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/packing/recurrent_transforms.h"
#include "skald/weights/parameters.h"

namespace skald {

struct RgLru {
  static constexpr std::string_view kName = "RG-LRU";

  int width = 0;       // channels
  int blocks = 0;      // of the gates' block-diagonal matrices
  int conv_width = 0;  // taps, the token itself included

  friend constexpr bool operator==(const RgLru&, const RgLru&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("blocks", self.blocks);
    visit("conv_width", self.conv_width);
  }

  constexpr const char* WhyImpossible() const {
    if (width <= 0 || blocks <= 0 || width % blocks != 0) {
      return "kLruWidth must be a positive multiple of kLruBlocks: the matrices of the gates are block-diagonal.";
    }
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const {
    return {.state_floats = static_cast<uint32_t>(channels() + conv().state_floats())};
  }

  struct Weights {
    Matrix input;  // [2 * width, model_dim]: the gate (linear_y), then the recurrence (linear_x)
    CausalConv::Weights conv;
    Matrix output;                   // [model_dim, width]
    std::vector<float> input_bias;   // [2 * width]
    std::vector<float> output_bias;  // [model_dim]
    std::vector<float> decay;        // [width], -8 * softplus(recurrent_param)
    // Input gates of all blocks, then recurrence gates of all blocks, each [width / blocks, width / blocks].
    std::vector<Matrix> gates;
    std::vector<float> gate_bias;  // [2 * width] in the same order
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const size_t w = channels(), count = static_cast<size_t>(blocks), block = w / count;
    list.AddMatrix(weights.input, model_dim,
                   {{"temporal_block.linear_y.weight", w}, {"temporal_block.linear_x.weight", w}},
                   {.output_units = count});
    conv().ListParameters(weights.conv, "temporal_block.conv_1d", list, Sections());
    list.AddMatrix(weights.output, w, {{"temporal_block.linear_out.weight", model_dim}}, {.input_units = count});
    list.AddDealtVector(weights.input_bias, {{"temporal_block.linear_y.bias", w}, {"temporal_block.linear_x.bias", w}},
                        count);
    list.AddVector(weights.output_bias, {{"temporal_block.linear_out.bias", model_dim}});
    // The state is multiplied by exp(decay * gate) at each token, with a gate around 1 / 2.
    list.AddArray(weights.decay, {{"temporal_block.rg_lru.recurrent_param", {w}}}, {-0.5f, 0.49f},
                  internal::DecayFromRgLruParameter);
    list.DealVector(Sections());
    list.AddBlocks(weights.gates, count, block,
                   {{.name = "temporal_block.rg_lru.input_gate_weight", .rows = block, .transposed = true},
                    {.name = "temporal_block.rg_lru.recurrent_gate_weight", .rows = block, .transposed = true}},
                   count);
    list.AddArray(weights.gate_bias,
                  {{"temporal_block.rg_lru.input_gate_bias", {count, block}},
                   {"temporal_block.rg_lru.recurrent_gate_bias", {count, block}}},
                  {});
    list.DealVector(Repeated(Sections(), 2));
  }

  // Blocks of channels.
  constexpr RgLru OfRank(const RankShare& share) const {
    RgLru part = *this;
    part.width = static_cast<int>(DealtSize(Sections(), share));
    part.blocks = part.width / (width / blocks);
    return part;
  }
  constexpr StateSections DealState() const { return {.state = Repeated(Sections(), static_cast<size_t>(conv_width))}; }

  // Both projections, gate first; the convolution's outputs; both gates; the recurrence's outputs.
  std::array<size_t, 4> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * 2 * channels(), rows * channels(), rows * 2 * channels(), rows * channels()};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t w = channels(), rows = run.state.rows(), lane_groups = RoundUp(w, kLanes) / kLanes;
    float* const projected = run.scratch[0];
    float* const convolved = run.scratch[1];
    float* const gates = run.scratch[2];
    float* const mixed = run.scratch[3];
    run.ops.MatMul(weights.input, run.input, rows, weights.input_bias, {projected, 2 * w});
    conv().Run(weights.conv, run, {projected + w, 2 * w}, run.state.offset + w * sizeof(float), convolved);
    run.ops.BlockMatMul(weights.gates, {convolved, w}, w, rows, weights.gate_bias, {gates, 2 * w},
                        w / static_cast<size_t>(blocks));
    run.ops.RgLru({.input = convolved,
                   .gates = gates,
                   .gate = projected,
                   .gate_stride = 2 * w,
                   .decay = weights.decay.data(),
                   .output = mixed,
                   .width = w,
                   .runs = run.state.runs.data(),
                   .state_offset = run.state.offset,
                   .unit_begin = 0,
                   .unit_end = 0},
                  run.state.runs.size() * lane_groups, kLanes * rows / run.state.runs.size());
    run.ops.MatMul(weights.output, {mixed, w}, rows, weights.output_bias, run.output);
  }

 private:
  constexpr size_t channels() const { return static_cast<size_t>(width); }
  constexpr std::vector<DealtSection> Sections() const { return {{channels(), static_cast<size_t>(blocks)}}; }
  constexpr CausalConv conv() const { return {channels(), static_cast<size_t>(conv_width), /*silu=*/false}; }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RG_LRU_H_
