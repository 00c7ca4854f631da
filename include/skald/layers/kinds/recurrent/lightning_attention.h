// SPDX-License-Identifier: Apache-2.0
//
// Lightning attention, Qin et al. 2024 (arXiv:2405.17381), as MiniMax-01 has it (arXiv:2501.08313, section 2.2):
// attention without a softmax. Each head keeps a sum of keys times values that decays by a constant of the head; what a
// query reads of it is normalised over all heads and multiplied by a gate.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_LIGHTNING_ATTENTION_H_
#define SKALD_LAYERS_KINDS_RECURRENT_LIGHTNING_ATTENTION_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/kernel_limits.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct LightningAttention {
  static constexpr std::string_view kName = "lightning attention";

  int heads = 0;     ///< each has a state [head_dim, head_dim]
  int head_dim = 0;  ///< elements of a head
  /// The state of head i decays by exp(-slope_factor * 2^(-8 (i + 1) / heads)) at each token, i counted from 0.
  float slope_factor = 1.0f;
  RmsNorm norm = {.epsilon = 1e-6f};  ///< of what all heads give as one row, in front of the gates
  /// In a rank's part: the heads of all ranks, and the number of this one's first.
  int all_heads = 0, first_head = 0;

  friend constexpr bool operator==(const LightningAttention&, const LightningAttention&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("slope_factor", self.slope_factor);
    visit("norm", self.norm);
    VisitUnless(0, "all_heads", self.all_heads, visit);
    VisitUnless(0, "first_head", self.first_head, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0) return "Heads of lightning attention and their size must be positive.";
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "Lightning attention has heads of at most 576 elements.";
    if (!(slope_factor > 0.0f && slope_factor <= 16.0f)) {
      return "The factor of lightning attention's slopes must be positive and at most 16.";
    }
    if (all_heads < 0 || first_head < 0 || (all_heads > 0 && first_head + heads > all_heads)) {
      return "A rank's heads of lightning attention must be among those of all.";
    }
    return norm.WhyImpossible();
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  /// With c = heads * head_dim:
  struct Weights {
    Matrix input;           ///< [3 * c, model_dim]: queries, keys, values
    Matrix gate;            ///< [c, model_dim]
    RmsNorm::Weights norm;  ///< [c]
    Matrix output;          ///< [model_dim, c]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const { visit(&LightningAttention::heads, Heads(1)); }
  /// Heads decay by their numbers among all.
  constexpr LightningAttention OfRank(const RankShare& share) const {
    LightningAttention part = PartOf(*this, share);
    if (part.heads == heads) return part;
    part.all_heads = heads;
    part.first_head = static_cast<int>(Partition(Heads(1), share).begin);
    return part;
  }
  constexpr StateAxes AxesOfState() const {
    return {.state = {Heads(dim() * dim())}, .inputs = {Heads(dim()), Heads(dim())}};
  }

  template <class T>
  struct Pieces {
    T projected;  ///< queries, keys and values, [rows, 3 * channels()]
    T gates;      ///< [rows, channels()]
    T inputs;     ///< of the sums, as their kernel wants them, [rows, 4, channels()]
    T constants;  ///< of the heads' decays, [3, channels()]
    T mixed;      ///< what heads give, [rows, channels()]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  /// Outputs mean nothing.
  void Replay(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t dim() const { return static_cast<size_t>(head_dim); }
  constexpr size_t channels() const { return static_cast<size_t>(heads) * dim(); }

  /// So many elements of each head.
  constexpr Axis Heads(size_t of_head) const {
    const auto count = static_cast<size_t>(heads);
    return {count * of_head, count};
  }

  /// Adds the rows to the sums, and writes what these give for them to scratch.mixed.
  void Sum(const LayerRun& run, const Pieces<float*>& scratch) const;

  /// Fills [3, channels()]: decays, their exponents as the kernel reads them, and their reciprocals.
  void FillConstants(float* constants) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/lightning_attention.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_LIGHTNING_ATTENTION_H_
