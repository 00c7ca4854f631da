// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of Mamba-2 (arXiv:2405.21060) with the projections of Mamba (arXiv:2312.00752), as PLaMo 2 has it: B,
// C and the time steps of heads are made of what the convolution gives, and normalised.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_SELECTIVE_MAMBA2_H_
#define SKALD_LAYERS_KINDS_RECURRENT_SELECTIVE_MAMBA2_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct SelectiveMamba2 {
  static constexpr std::string_view kName = "selective Mamba-2";

  int heads = 0;           ///< with a decay each
  int head_dim = 0;        ///< channels of a head
  int state_dim = 0;       ///< state variables per channel
  int time_step_rank = 0;  ///< width of the bottleneck in front of the time steps
  int conv_width = 0;      ///< taps, the token itself included
  RmsNorm norm = {};       ///< of the bottleneck, of B and of C, each by itself

  friend constexpr bool operator==(const SelectiveMamba2&, const SelectiveMamba2&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("state_dim", self.state_dim);
    visit("time_step_rank", self.time_step_rank);
    visit("conv_width", self.conv_width);
    visit("norm", self.norm);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0 || state_dim <= 0 || time_step_rank <= 0) {
      return "Heads, their size, states and the rank of time steps of a selective Mamba-2 must be positive.";
    }
    if (const char* why = norm.WhyImpossible()) return why;
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  /// With c = heads * head_dim:
  struct Weights {
    Matrix input;                                     ///< [2 * c, model_dim]: gates, then the recurrence
    CausalConv::Weights conv;                         ///< [c] channels
    Matrix selection;                                 ///< [2 * state_dim + time_step_rank, c]: B, C, the bottleneck
    Matrix time_step;                                 ///< [heads, time_step_rank]
    RmsNorm::Weights b_norm, c_norm, time_step_norm;  ///< [state_dim] twice, [time_step_rank]
    std::vector<float> decay;                         ///< [heads], -exp(A_log)
    std::vector<float> time_step_bias;                ///< [heads]
    std::vector<float> skip;                          ///< D [heads]
    Matrix output;                                    ///< [model_dim, c]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  /// Every rank is given what is selected for all heads.
  constexpr void VisitAxes(auto visit) const { visit(&SelectiveMamba2::heads, Heads(1)); }
  constexpr StateAxes AxesOfState() const {
    const auto states = static_cast<size_t>(state_dim);
    StateAxes axes = {.state = {Heads(dim() * states)}, .inputs = {Heads(dim())}};
    conv().AddAxesOfState(axes.inputs, axes.state);
    axes.inputs.insert(axes.inputs.end(), {Heads(1), 2 * states});
    return axes;
  }

  template <class T>
  struct Pieces {
    T projected;   ///< gates and the recurrence, [rows, 2 * channels()]
    T convolved;   ///< the convolution's outputs, [rows, channels()]
    T selection;   ///< B, C and the bottleneck, [rows, selected()]
    T time_steps;  ///< [rows, heads]
    T inputs;      ///< of the recurrence, x, B and C, [rows, channels() + 2 * state_dim]
    T mixed;       ///< the recurrence's outputs, [rows, channels()]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  /// Without gates, outputs mean nothing.
  void Replay(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t dim() const { return static_cast<size_t>(head_dim); }
  constexpr size_t channels() const { return static_cast<size_t>(heads) * dim(); }
  constexpr size_t scan_floats() const { return channels() * static_cast<size_t>(state_dim); }
  constexpr size_t selected() const { return static_cast<size_t>(2 * state_dim + time_step_rank); }
  constexpr CausalConv conv() const {
    return {channels(), static_cast<size_t>(conv_width), /*silu=*/true, /*has_bias=*/false};
  }

  /// So many elements of each head.
  constexpr Axis Heads(size_t of_head) const {
    const auto count = static_cast<size_t>(heads);
    return {count * of_head, count};
  }

  void Convolve(const Weights& weights, const LayerRun& run, const Pieces<float*>& scratch) const;

  /// Makes B, C and time steps of what the convolution gave.
  void Select(const Weights& weights, const LayerRun& run, const Pieces<float*>& scratch) const;

  void Scan(const Weights& weights, const LayerRun& run, const Pieces<float*>& scratch) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/selective_mamba2.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_SELECTIVE_MAMBA2_H_
