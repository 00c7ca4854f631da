// SPDX-License-Identifier: Apache-2.0
//
// Mamba, a selective state space, Gu and Dao 2023 (arXiv:2312.00752). Its time steps, inputs and outputs may be
// normalised, as in Jamba (Lieber et al. 2024, arXiv:2403.19887).

#ifndef SKALD_LAYERS_KINDS_RECURRENT_MAMBA_H_
#define SKALD_LAYERS_KINDS_RECURRENT_MAMBA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/kernel_limits.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/columns.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct Mamba {
  static constexpr std::string_view kName = "Mamba";

  int inner_dim = 0;       ///< channels
  int state_dim = 0;       ///< state variables per channel
  int time_step_rank = 0;  ///< width of the bottleneck in front of the time step
  int conv_width = 0;      ///< taps, the token itself included
  /// Of the time step's bottleneck, of B and of C, each by itself.
  std::optional<NormSpec> selection_norm = {};

  friend constexpr bool operator==(const Mamba&, const Mamba&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("inner_dim", self.inner_dim);
    visit("state_dim", self.state_dim);
    visit("time_step_rank", self.time_step_rank);
    visit("conv_width", self.conv_width);
    VisitUnless(std::nullopt, "selection_norm", self.selection_norm, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (inner_dim <= 0 || state_dim <= 0 || time_step_rank <= 0) {
      return "kInnerDim, kStateDim and kTimeStepRank must be positive.";
    }
    if (state_dim > static_cast<int>(kMaxStateDim))
      return "kStateDim is larger than the buffers of the selective scan.";
    if (selection_norm) {
      if (const char* why = selection_norm->WhyImpossible()) return why;
    }
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  struct Weights {
    Matrix input;                                ///< in_proj [2 * inner_dim, model_dim]: the recurrence, then its gate
    CausalConv::Weights conv;                    ///< [inner_dim] channels
    Matrix output;                               ///< [model_dim, inner_dim]
    std::vector<float> decay;                    ///< [state_dim, inner_dim], -exp(A_log)
    std::vector<float> time_step_bias;           ///< [inner_dim]
    std::vector<float> skip;                     ///< D [inner_dim]
    Matrix selection;                            ///< x_proj [time_step_rank + 2 * state_dim, inner_dim]
    Matrix time_step;                            ///< dt_proj [inner_dim, time_step_rank]
    NormWeights time_step_norm, b_norm, c_norm;  ///< [time_step_rank], [state_dim] twice; empty when there are none
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  /// Every rank is given the parts that are selected for all channels.
  constexpr void VisitAxes(auto visit) const { visit(&Mamba::inner_dim, Columns(inner_dim)); }
  constexpr StateAxes AxesOfState() const {
    return {.state = {Columns(inner_dim).Times(static_cast<size_t>(state_dim + conv_width - 1))}};
  }

  template <class T>
  struct Pieces {
    T projected;   ///< both projections, [rows, 2 * inner_dim]
    T convolved;   ///< the convolution's outputs, [rows, inner_dim]
    T selection;   ///< the time step's bottleneck, B and C, [rows, time_step_rank + 2 * state_dim]
    T time_steps;  ///< [rows, inner_dim]
    T mixed;       ///< the scan's outputs, [rows, inner_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t channels() const { return static_cast<size_t>(inner_dim); }
  constexpr size_t scan_floats() const { return channels() * static_cast<size_t>(state_dim); }
  void NormalizeSelection(const Weights& weights, const LayerRun& run, Rows selection) const;

  constexpr CausalConv conv() const { return {channels(), static_cast<size_t>(conv_width), /*silu=*/true}; }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/mamba.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_MAMBA_H_
