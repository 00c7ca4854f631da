// SPDX-License-Identifier: Apache-2.0
//
// Mamba-2, state-space duality, Dao and Gu 2024 (arXiv:2405.21060): one decay for each head, and a norm behind the
// gate.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_MAMBA2_H_
#define SKALD_LAYERS_KINDS_RECURRENT_MAMBA2_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/form/layout.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/packing/recurrent_transforms.h"
#include "skald/weights/parameters.h"

namespace skald {

struct Mamba2 {
  static constexpr std::string_view kName = "Mamba-2";

  int heads = 0;
  int head_dim = 0;    // channels of a head
  int state_dim = 0;   // state variables per channel
  int groups = 0;      // of heads, which share B and C
  int conv_width = 0;  // taps, the token itself included
  float time_step_min = 0.0f, time_step_max = std::numeric_limits<float>::infinity();  // time steps are clamped to this
  RmsNorm norm = {};  // of each group of heads by itself, as the authors' code has it
  bool has_norm = true;
  std::vector<float> input_multipliers = {};  // of what is projected: gate, x, B, C, time steps; none: nothing is
  float output_multiplier = 1.0f;             // of all that the layer gives
  int groups_of_ranks = 0;  // that all ranks have together, and the norms are of, in a rank's part of a group

  friend constexpr bool operator==(const Mamba2&, const Mamba2&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("state_dim", self.state_dim);
    visit("groups", self.groups);
    visit("conv_width", self.conv_width);
    visit("time_step_min", self.time_step_min);
    visit("time_step_max", self.time_step_max);
    visit("norm", self.norm);
    VisitUnless(true, "has_norm", self.has_norm, visit);
    VisitUnless(std::vector<float>(), "input_multipliers", self.input_multipliers, visit);
    VisitUnless(1.0f, "output_multiplier", self.output_multiplier, visit);
    VisitUnless(0, "groups_of_ranks", self.groups_of_ranks, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0 || state_dim <= 0 || groups <= 0) {
      return "kSsmHeads, kSsmHeadDim, kStateDim and kSsmGroups must be positive.";
    }
    if (heads % groups != 0) return "kSsmHeads must be a multiple of kSsmGroups: a group of heads shares B and C.";
    if (!(time_step_min >= 0.0f && time_step_min <= time_step_max)) {
      return "kTimeStepLimit must be two bounds in rising order, not negative.";
    }
    if (!input_multipliers.empty() && input_multipliers.size() != kSections) {
      return "The multipliers of Mamba-2's inputs are five: of the gate, x, B, C and time steps.";
    }
    if (!(output_multiplier > 0.0f)) return "The multiplier of what Mamba-2 gives must be positive.";
    if (groups_of_ranks < 0 || (groups_of_ranks > 0 && groups != 1)) {
      return "A rank that has a part of a group of heads has no other group.";
    }
    if (const char* why = norm.WhyImpossible()) return why;
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const {
    const size_t floats = scan_floats() + conv().state_floats();
    return {.state_floats = static_cast<uint32_t>(floats), .input_floats = InputsToReplay(floats, input_floats())};
  }

  struct Weights {
    Matrix input;  // in_proj [projected, model_dim]: gate, channels of the convolution, a time step for each head
    CausalConv::Weights conv;
    Matrix output;                      // [model_dim, width]
    std::vector<float> decay;           // [heads], -exp(A_log)
    std::vector<float> time_step_bias;  // [heads]
    std::vector<float> skip;            // D [heads]
    RmsNorm::Weights norm;              // [width], on the gated output; or empty
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto h = static_cast<size_t>(heads);
    std::vector<DealtSection> projected = {OfHeads(width())};
    for (const DealtSection& section : DealState().inputs) projected.push_back(section);
    list.AddMatrix(weights.input, model_dim, {{"mixer.in_proj.weight", projected_dim()}},
                   {.sections = std::move(projected)});
    conv().ListParameters(weights.conv, "mixer.conv1d", list, ConvSections());
    list.AddMatrix(weights.output, width(), {{"mixer.out_proj.weight", model_dim}},
                   {.input_units = OfHeads(width()).units, .input_sharers = OfHeads(width()).sharers});
    // As Mamba's.
    list.AddDecay(weights.decay, "mixer.A_log", h, {-8.5f, 7.5f});
    list.DealVector({OfHeads(h)});
    list.AddVector(weights.time_step_bias, {{"mixer.dt_bias", h}}, {-3.43f, 1.15f});
    list.DealVector({OfHeads(h)});
    list.AddVector(weights.skip, {{"mixer.D", h}}, {.center = 1.0f});
    list.DealVector({OfHeads(h)});
    if (has_norm) {
      norm.ListParameters(weights.norm, "mixer.norm", width(), list);
      if (norm.weight) list.DealVector({{width(), static_cast<size_t>(groups)}});
    }
    if (!input_multipliers.empty() || output_multiplier != 1.0f) list.Assume(Assumption::kNotMultiplied);
  }

  // Groups of heads; heads where there are fewer groups than ranks, and those that share a group have its B and C.
  constexpr Mamba2 OfRank(const RankShare& share) const {
    const DealtSection h = OfHeads(static_cast<size_t>(heads));
    if (!AreDealt(h, share.ranks)) return *this;
    Mamba2 part = *this;
    part.heads = static_cast<int>(Deal(h, share).size());
    part.groups = std::max(1, part.heads / (heads / groups));
    if (has_norm && h.units < share.ranks) part.groups_of_ranks = groups;
    return part;
  }
  constexpr StateSections DealState() const {
    StateSections sections = {.state = {OfHeads(scan_floats())}, .inputs = ConvSections()};
    for (const DealtSection& section : conv().DealState(ConvSections())) sections.state.push_back(section);
    sections.inputs.push_back(OfHeads(static_cast<size_t>(heads)));
    return sections;
  }

  // The projection: gate, x, B, C, time steps; the convolution's outputs; the recurrence's outputs.
  std::array<size_t, 3> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * projected_dim(), rows * conv().channels, rows * width()};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.state.rows(), w = width();
    const Rows projected = {run.scratch[0], projected_dim()};
    float* const mixed = run.scratch[2];
    run.ops.MatMul(weights.input, run.input, rows, {}, projected);
    if (!input_multipliers.empty()) MultiplySections(run, projected);
    KeepInputs(run.state, InputsIn(projected), input_floats());
    Recur(weights, run, projected, mixed);
    const auto parts = static_cast<size_t>(std::max(groups, groups_of_ranks));
    if (groups_of_ranks > 0) {
      run.ops.NormMatMul(weights.output, weights.norm, parts, norm.epsilon, {mixed, w}, rows, {}, run.output);
    } else {
      if (has_norm) run.ops.NormParts({mixed, w}, rows, w, parts, weights.norm, norm.epsilon);
      run.ops.MatMul(weights.output, {mixed, w}, rows, {}, run.output);
    }
    if (output_multiplier != 1.0f) run.ops.Scale(run.output, rows, run.model_dim, output_multiplier);
  }

  // Without gates, outputs mean nothing.
  void Replay(const Weights& weights, const LayerRun& run) const {
    const Rows projected = {run.scratch[0], projected_dim()};
    TakeInputs(run.state, InputsIn(projected), input_floats());
    Recur(weights, run, projected, run.scratch[2]);
  }

 private:
  static constexpr size_t kSections = 5;

  void MultiplySections(const LayerRun& run, Rows projected) const {
    const size_t of_group = static_cast<size_t>(groups) * static_cast<size_t>(state_dim);
    const size_t sizes[kSections] = {width(), width(), of_group, of_group, static_cast<size_t>(heads)};
    for (size_t i = 0; i < kSections; ++i) {
      run.ops.Scale(projected, run.state.rows(), sizes[i], input_multipliers[i]);
      projected.data += sizes[i];
    }
  }

  // So many of each head's.
  constexpr DealtSection OfHeads(size_t size) const {
    return {size, static_cast<size_t>(groups), static_cast<size_t>(heads / groups)};
  }
  // x, B and C.
  constexpr std::vector<DealtSection> ConvSections() const {
    DealtSection of_groups = OfHeads(static_cast<size_t>(groups) * static_cast<size_t>(state_dim));
    of_groups.is_copied = true;
    return {OfHeads(width()), of_groups, of_groups};
  }

  constexpr size_t width() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  constexpr size_t scan_floats() const { return width() * static_cast<size_t>(state_dim); }
  constexpr size_t input_floats() const { return conv().channels + static_cast<size_t>(heads); }
  constexpr size_t projected_dim() const { return width() + input_floats(); }
  // What states follow from: all that is projected but the gate.
  Rows InputsIn(Rows projected) const { return {projected.data + width(), projected.stride}; }
  constexpr CausalConv conv() const {
    const size_t channels = width() + 2 * static_cast<size_t>(groups) * static_cast<size_t>(state_dim);
    return {channels, static_cast<size_t>(conv_width), /*silu=*/true};
  }

  void Recur(const Weights& weights, const LayerRun& run, Rows projected, float* mixed) const {
    float* const convolved = run.scratch[1];
    conv().Run(weights.conv, run, InputsIn(projected), run.state.offset + scan_floats() * sizeof(float), convolved);
    Scan(weights, run, projected.data, convolved, mixed);
  }

  void Scan(const Weights& weights, const LayerRun& run, const float* projected, const float* convolved,
            float* mixed) const {
    const size_t rows = run.state.rows(), runs = run.state.runs.size(), h = static_cast<size_t>(heads);
    run.ops.StateSpace({.input = convolved,
                        .time_step = projected + projected_dim() - h,
                        .time_step_stride = projected_dim(),
                        .time_step_bias = weights.time_step_bias.data(),
                        .time_step_min = time_step_min,
                        .time_step_max = time_step_max,
                        .gate = projected,
                        .gate_stride = projected_dim(),
                        .decay = weights.decay.data(),
                        .skip = weights.skip.data(),
                        .output = mixed,
                        .heads = h,
                        .head_dim = static_cast<size_t>(head_dim),
                        .groups = static_cast<size_t>(groups),
                        .state_dim = static_cast<size_t>(state_dim),
                        .runs = run.state.runs.data(),
                        .state_offset = run.state.offset,
                        .unit_begin = 0,
                        .unit_end = 0},
                       runs * h, static_cast<size_t>(head_dim) * static_cast<size_t>(state_dim) * rows / runs);
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_MAMBA2_H_
