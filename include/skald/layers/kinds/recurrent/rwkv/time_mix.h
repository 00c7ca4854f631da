// SPDX-License-Identifier: Apache-2.0
//
// Time mix of RWKV-7, Peng et al. 2025 (arXiv:2503.14456, section 4.1): a matrix for each head, whose rows each decay
// at a rate of their own, and in which each token replaces a part of the value of its key. All layers but the first mix
// their values with those of the first one, which it carries to them.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_TIME_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_TIME_MIX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
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

enum class FactorFunction : uint8_t;  // kernels/args.h
struct LayerRun;                      // layers/run/layer_run.h

struct RwkvTimeMix {
  static constexpr std::string_view kName = "RWKV-7 time mix";

  int heads = 0;     ///< each has a state [head_dim, head_dim]
  int head_dim = 0;  ///< elements of a head
  /// Ranks of the matrices that give decays, rates of replacement, gates, and the share of the first layer's values. A
  /// layer without the last one gives its values to later layers.
  int decay_rank = 0, rate_rank = 0, gate_rank = 0, value_rank = 0;
  float norm_epsilon = 64e-5f;  ///< of LayerNorm over each head
  int input_dim = 0;            ///< the model's width where it is not that of all heads: in a rank's part

  friend constexpr bool operator==(const RwkvTimeMix&, const RwkvTimeMix&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("decay_rank", self.decay_rank);
    visit("rate_rank", self.rate_rank);
    visit("gate_rank", self.gate_rank);
    visit("value_rank", self.value_rank);
    visit("norm_epsilon", self.norm_epsilon);
    VisitUnless(0, "input_dim", self.input_dim, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0) return "Heads of a time mix and their size must be positive.";
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "A time mix has heads of at most 576 elements.";
    if (decay_rank <= 0 || rate_rank <= 0 || gate_rank <= 0 || value_rank < 0) {
      return "Ranks of a time mix must be positive, but for that of values, which the first layer does without.";
    }
    if (input_dim < 0) return "The width of a time mix's input must not be negative.";
    return norm_epsilon > 0.0f ? nullptr : "The epsilon of a time mix's norm must be positive.";
  }

  constexpr int InputDim() const { return input_dim > 0 ? input_dim : heads * head_dim; }
  constexpr std::optional<CarriedRows> Carried() const {
    return CarriedRows{.width = heads * head_dim, .gives = gives_values()};
  }
  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  /// up(function(down(x))) + bias, of few numbers between.
  struct LowRank {
    Matrix down;              ///< [rank, channels]
    Matrix up;                ///< [channels, rank]
    std::vector<float> bias;  ///< [channels], or empty
  };
  /// With channels = heads * head_dim:
  struct Weights {
    std::vector<float> mix;         ///< [6, channels]: of r, w, k, v, rates, gates
    Matrix receptance, key, value;  ///< [channels, channels]
    /// Of what the names say, each by a matrix of low rank.
    LowRank decay, rate, gate;
    LowRank blend;                       ///< of the first layer's values; empty in the first layer
    std::vector<float> key_scale;        ///< k_k [channels]
    std::vector<float> rate_scale;       ///< k_a [channels]
    std::vector<float> bonus;            ///< r_k [channels]
    std::vector<float> norm, norm_bias;  ///< [channels]
    Matrix output;                       ///< [channels, channels]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const { visit(&RwkvTimeMix::heads, Heads(1)); }
  /// Every rank has the row before, in the model's width.
  constexpr RwkvTimeMix OfRank(const RankShare& share) const {
    RwkvTimeMix part = PartOf(*this, share);
    if (part.heads < heads) part.input_dim = InputDim();
    return part;
  }
  constexpr StateAxes AxesOfState() const {
    const auto dim = static_cast<size_t>(head_dim);
    return {.state = {Heads(dim * dim), shift().state_floats()}};
  }

  template <class T>
  struct Pieces {
    T shifted;    ///< mixes of rows with those before them, [rows, kMixes, model_dim]
    T projected;  ///< what they are projected to, [rows, kMixes, heads * head_dim]
    T low;        ///< within a low-rank projection, [rows, the highest rank]
    T blend;      ///< how values blend with those of the first layer, [rows, heads * head_dim]
    T mixed;      ///< what heads give, [rows, heads * head_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  // In the order in which the kernel wants what they become.
  enum Mixes : size_t { kReceptance, kDecay, kKey, kValue, kRate, kGate, kMixes };

  constexpr bool gives_values() const { return value_rank == 0; }
  /// So many elements of each head.
  constexpr Axis Heads(size_t of_head) const {
    const auto count = static_cast<size_t>(heads);
    return {count * of_head, count};
  }
  constexpr size_t channels() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  constexpr size_t memory_floats() const { return channels() * static_cast<size_t>(head_dim); }
  constexpr TokenShift shift() const { return {.channels = static_cast<size_t>(InputDim()), .mixes = kMixes}; }

  void ListLowRank(LowRank& weights, std::string_view name, int rank, size_t model_dim, ParameterList& list,
                   bool has_bias = true) const;

  void Project(const LowRank& weights, FactorFunction function, const LayerRun& run, Rows input, Rows output) const;

  void Mix(const Weights& weights, const LayerRun& run, const float* blend, float* mixed) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/rwkv/detail/time_mix.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_TIME_MIX_H_
