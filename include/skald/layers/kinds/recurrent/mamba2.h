// SPDX-License-Identifier: Apache-2.0
//
// Mamba-2, state-space duality, Dao and Gu 2024 (arXiv:2405.21060): one decay for each head, and a norm after the gate.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_MAMBA2_H_
#define SKALD_LAYERS_KINDS_RECURRENT_MAMBA2_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct Mamba2 {
  static constexpr std::string_view kName = "Mamba-2";

  int heads = 0;                                                 ///< with a decay each
  int head_dim = 0;                                              ///< channels of a head
  int state_dim = 0;                                             ///< state variables per channel
  int groups = 0;                                                ///< of heads, which share B and C
  int conv_width = 0;                                            ///< taps, the token itself included
  float time_step_min = 0.0f;                                    ///< time steps are clamped to this
  float time_step_max = std::numeric_limits<float>::infinity();  ///< and to this
  RmsNorm norm = {};                          ///< of each group of heads by itself, as the authors' code has it
  bool has_norm = true;                       ///< whether there is a norm after the gate
  std::vector<float> input_multipliers = {};  ///< of what is projected: gate, x, B, C, time steps; none: nothing is
  float output_multiplier = 1.0f;             ///< of all that the layer gives
  int groups_of_ranks = 0;  ///< that all ranks have together, and the norms are of, in a rank's part of a group

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

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  struct Weights {
    Matrix input;  ///< in_proj [projected, model_dim]: gate, channels of the convolution, a time step for each head
    CausalConv::Weights conv;           ///< of x, B and C
    Matrix output;                      ///< [model_dim, width]
    std::vector<float> decay;           ///< [heads], -exp(A_log)
    std::vector<float> time_step_bias;  ///< [heads]
    std::vector<float> skip;            ///< D [heads]
    RmsNorm::Weights norm;              ///< [width], on the gated output; or empty
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const {
    visit(&Mamba2::heads, Heads(1));
    visit(&Mamba2::groups, Groups(1));
  }
  /// Norms are of whole groups, of which ranks have parts where these are fewer.
  constexpr Mamba2 OfRank(const RankShare& share) const {
    Mamba2 part = PartOf(*this, share);
    if (has_norm && part.heads < heads && Heads(1).units < share.ranks) part.groups_of_ranks = groups;
    return part;
  }
  constexpr StateAxes AxesOfState() const {
    StateAxes axes = {.state = {Heads(static_cast<size_t>(head_dim) * static_cast<size_t>(state_dim))},
                      .inputs = ConvAxes()};
    conv().AddAxesOfState(axes.inputs, axes.state);
    axes.inputs.push_back(Heads(1));
    return axes;
  }

  template <class T>
  struct Pieces {
    T projected;  ///< gate, x, B, C, time steps, [rows, projected_dim()]
    T convolved;  ///< the convolution's outputs, x, B and C
    T mixed;      ///< the recurrence's outputs, [rows, width()]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  /// Without gates, outputs mean nothing.
  void Replay(const Weights& weights, const LayerRun& run) const;

 private:
  static constexpr size_t kSections = 5;

  void MultiplySections(const LayerRun& run, Rows projected) const;

  /// So many elements of each head, and of each group of heads. A rank has whole groups, or heads if there
  /// are fewer groups than ranks. Each of the ranks that share a group has its B and C.
  constexpr Axis Heads(size_t of_head) const {
    return {static_cast<size_t>(heads) * of_head, static_cast<size_t>(groups), static_cast<size_t>(heads / groups)};
  }
  constexpr Axis Groups(size_t of_group) const {
    const auto count = static_cast<size_t>(groups);
    return {count * of_group, count, static_cast<size_t>(heads / groups), /*copied=*/true};
  }
  constexpr Axis Channels() const { return Heads(static_cast<size_t>(head_dim)); }
  /// x, B and C.
  constexpr std::vector<Axis> ConvAxes() const {
    const Axis of_groups = Groups(static_cast<size_t>(state_dim));
    return {Channels(), of_groups, of_groups};
  }

  constexpr size_t width() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  constexpr size_t scan_floats() const { return width() * static_cast<size_t>(state_dim); }
  constexpr size_t input_floats() const { return conv().channels + static_cast<size_t>(heads); }
  constexpr size_t projected_dim() const { return width() + input_floats(); }
  /// The inputs of states: the whole projection except the gate.
  Rows InputsIn(Rows projected) const { return {projected.data + width(), projected.stride}; }
  constexpr CausalConv conv() const {
    const size_t channels = width() + 2 * static_cast<size_t>(groups) * static_cast<size_t>(state_dim);
    return {channels, static_cast<size_t>(conv_width), /*silu=*/true};
  }

  void Recur(const Weights& weights, const LayerRun& run, Rows projected, float* mixed) const;

  void Scan(const Weights& weights, const LayerRun& run, const float* projected, const float* convolved,
            float* mixed) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/mamba2.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_MAMBA2_H_
