// SPDX-License-Identifier: Apache-2.0
//
// Kimi delta attention, Kimi Team 2025 (arXiv:2510.26692): a matrix for each head, whose keys decay each by itself, and
// in which each token replaces the value of its key.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_KIMI_DELTA_H_
#define SKALD_LAYERS_KINDS_RECURRENT_KIMI_DELTA_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/kernel_limits.h"
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

struct KimiDelta {
  static constexpr std::string_view kName = "Kimi delta attention";

  int heads = 0;       ///< each has a state [head_dim, head_dim]
  int head_dim = 0;    ///< elements of a head; also the rank of the matrices that give decays and gates
  int conv_width = 0;  ///< taps, the token itself included
  RmsNorm norm = {};   ///< of each head, in front of its gate

  friend constexpr bool operator==(const KimiDelta&, const KimiDelta&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("conv_width", self.conv_width);
    visit("norm", self.norm);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0) return "Heads of Kimi delta attention and their size must be positive.";
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "Kimi delta attention has heads of at most 576 elements.";
    if (const char* why = norm.WhyImpossible()) return why;
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  /// With c = heads * head_dim:
  struct Weights {
    Matrix input;                       ///< [3 * c, model_dim]: queries, keys, values
    Matrix low;                         ///< [2 * head_dim, model_dim]: of what decays and gates are made
    Matrix decay_up, gate_up;           ///< [c, head_dim]
    Matrix rates;                       ///< [heads, model_dim]: how much is replaced
    CausalConv::Weights conv;           ///< of queries, keys and values
    std::vector<float> decay;           ///< [heads], -exp(A_log)
    std::vector<float> time_step_bias;  ///< [c]
    RmsNorm::Weights norm;              ///< [head_dim]
    Matrix output;                      ///< [model_dim, c]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const { visit(&KimiDelta::heads, Heads(1)); }
  constexpr StateAxes AxesOfState() const {
    StateAxes axes = {.state = {Heads(dim() * dim())}, .inputs = ConvAxes()};
    conv().AddAxesOfState(axes.inputs, axes.state);
    axes.inputs.push_back(Heads(dim()));
    axes.inputs.push_back(Heads(1));
    return axes;
  }

  template <class T>
  struct Pieces {
    T projected;    ///< queries, keys and values, [rows, 3 * channels()]
    T low;          ///< of what decays and gates are made, [rows, 2 * head_dim]
    T decays;       ///< before their time step, [rows, channels()]
    T gates;        ///< [rows, channels()]
    T rates;        ///< [rows, heads]
    T convolved;    ///< the convolution's outputs, [rows, 3 * channels()]
    T mixed;        ///< the memory's outputs, [rows, channels()]
    T key_factors;  ///< of queries and keys, [2, head_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  void Replay(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t dim() const { return static_cast<size_t>(head_dim); }
  constexpr size_t channels() const { return static_cast<size_t>(heads) * dim(); }
  constexpr size_t memory_floats() const { return channels() * dim(); }
  constexpr CausalConv conv() const {
    return {3 * channels(), static_cast<size_t>(conv_width), /*silu=*/true, /*has_bias=*/false};
  }

  /// So many elements of each head.
  constexpr Axis Heads(size_t of_head) const {
    const auto count = static_cast<size_t>(heads);
    return {count * of_head, count};
  }
  constexpr std::vector<Axis> ConvAxes() const { return {Heads(dim()), Heads(dim()), Heads(dim())}; }

  /// Moves the memory on by the rows, and writes what it gives for them to scratch.mixed.
  void Recur(const Weights& weights, const LayerRun& run, const Pieces<float*>& scratch) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/kimi_delta.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_KIMI_DELTA_H_
