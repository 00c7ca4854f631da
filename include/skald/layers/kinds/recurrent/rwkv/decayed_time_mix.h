// SPDX-License-Identifier: Apache-2.0
//
// The time mix of RWKV-6, Peng et al. 2024 (arXiv:2404.05892): a matrix for each head, whose keys decay as the token
// says, to which each token adds its value under its key. How rows are mixed with those before them depends on the row.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_DECAYED_TIME_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_DECAYED_TIME_MIX_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/kernel_limits.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/recurrent/rwkv/token_shift.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct RwkvDecayedTimeMix {
  static constexpr std::string_view kName = "RWKV-6 time mix";

  int heads = 0;     ///< each has a state [head_dim, head_dim]
  int head_dim = 0;  ///< elements of a head
  /// Ranks of the matrices that give the mixes of rows, each by itself, and decays.
  int mix_rank = 0, decay_rank = 0;
  float norm_epsilon = 64e-5f;  ///< of LayerNorm over each head
  int input_dim = 0;            ///< the model's width where it is not that of all heads: in a rank's part

  friend constexpr bool operator==(const RwkvDecayedTimeMix&, const RwkvDecayedTimeMix&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("mix_rank", self.mix_rank);
    visit("decay_rank", self.decay_rank);
    visit("norm_epsilon", self.norm_epsilon);
    VisitUnless(0, "input_dim", self.input_dim, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0) return "Heads of a time mix and their size must be positive.";
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "A time mix has heads of at most 576 elements.";
    if (mix_rank <= 0 || decay_rank <= 0) return "Ranks of a time mix must be positive.";
    if (input_dim < 0) return "The width of a time mix's input must not be negative.";
    return norm_epsilon > 0.0f ? nullptr : "The epsilon of a time mix's norm must be positive.";
  }

  constexpr int InputDim() const { return input_dim > 0 ? input_dim : heads * head_dim; }
  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  /// With channels = heads * head_dim:
  struct Weights {
    std::vector<float> first_mix;         ///< [model_dim]: of the row that the other mixes follow from
    std::vector<float> mix;               ///< [5, model_dim]: of w, k, v, r, g
    Matrix mix_down;                      ///< [5 * mix_rank, model_dim]
    std::vector<Matrix> mix_up;           ///< [5] of [model_dim, mix_rank]
    Matrix receptance, key, value, gate;  ///< [channels, model_dim]
    Matrix decay_down, decay_up;          ///< [decay_rank, model_dim], [channels, decay_rank]
    std::vector<float> decay_bias;        ///< [channels]
    std::vector<float> bonus;             ///< [channels]
    std::vector<float> norm, norm_bias;   ///< [channels]
    Matrix output;                        ///< [model_dim, channels]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const { visit(&RwkvDecayedTimeMix::heads, Heads(1)); }
  /// Every rank has the row before, in the model's width.
  constexpr RwkvDecayedTimeMix OfRank(const RankShare& share) const {
    RwkvDecayedTimeMix part = PartOf(*this, share);
    if (part.heads < heads) part.input_dim = InputDim();
    return part;
  }
  constexpr StateAxes AxesOfState() const {
    const auto dim = static_cast<size_t>(head_dim);
    return {.state = {Heads(dim * dim), shift(kMixes).state_floats()}};
  }

  template <class T>
  struct Pieces {
    T first;      ///< the row that the other mixes follow from, [rows, model_dim]
    T low;        ///< within a low-rank projection, [rows, the highest rank of all mixes]
    T row_mixes;  ///< what each row adds to the mixes, [rows, kMixes, model_dim]
    T shifted;    ///< mixes of rows with those before them, [rows, kMixes, model_dim]
    T projected;  ///< what they are projected to, as the kernel wants it, [rows, 4, channels]
    T gates;      ///< [rows, channels]
    T mixed;      ///< what heads give, [rows, channels]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  enum Mixes : size_t { kDecay, kKey, kValue, kReceptance, kGate, kMixes };  // in the order of files

  /// So many elements of each head.
  constexpr Axis Heads(size_t of_head) const {
    const auto count = static_cast<size_t>(heads);
    return {count * of_head, count};
  }
  constexpr size_t channels() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  constexpr size_t memory_floats() const { return channels() * static_cast<size_t>(head_dim); }
  constexpr TokenShift shift(size_t mixes) const {
    return {.channels = static_cast<size_t>(InputDim()), .mixes = mixes};
  }

  /// Mixes rows with those before them, in kMixes ways.
  void Shift(const Weights& weights, const LayerRun& run) const;

  void Sum(const Weights& weights, const LayerRun& run) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/rwkv/detail/decayed_time_mix.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_DECAYED_TIME_MIX_H_
