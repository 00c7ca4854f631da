// SPDX-License-Identifier: Apache-2.0
//
// Gated delta net, Yang et al. 2024 (arXiv:2412.06464), as in Qwen3-Next: a matrix for each value head, which decays
// and in which each token replaces the value of its key.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_GATED_DELTA_NET_H_
#define SKALD_LAYERS_KINDS_RECURRENT_GATED_DELTA_NET_H_

#include <cstddef>
#include <cstdint>
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

struct GatedDeltaNet {
  static constexpr std::string_view kName = "gated delta net";

  int key_heads = 0;    ///< of queries and keys; each serves value_heads / key_heads value heads, which are neighbours
  int value_heads = 0;  ///< each has a state [key_dim, value_dim]
  int key_dim = 0;      ///< elements of a query or key head
  int value_dim = 0;    ///< elements of a value head
  int conv_width = 0;   ///< taps, the token itself included
  RmsNorm norm = {};    ///< of each value head, in front of its gate
  bool tiled = false;   ///< key heads serve value heads in turn, and so none that are neighbours, as in some GGUF files

  friend constexpr bool operator==(const GatedDeltaNet&, const GatedDeltaNet&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("key_heads", self.key_heads);
    visit("value_heads", self.value_heads);
    visit("key_dim", self.key_dim);
    visit("value_dim", self.value_dim);
    visit("conv_width", self.conv_width);
    visit("norm", self.norm);
    visit("tiled", self.tiled);
  }

  constexpr const char* WhyImpossible() const {
    if (key_heads <= 0 || value_heads <= 0 || key_dim <= 0 || value_dim <= 0) {
      return "Heads of a gated delta net and their sizes must be positive.";
    }
    if (value_heads % key_heads != 0) {
      return "A gated delta net's value heads must be a multiple of its key heads: each serves the same number of "
             "them.";
    }
    if (const char* why = norm.WhyImpossible()) return why;
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  /// With k = key_heads * key_dim and v = value_heads * value_dim:
  struct Weights {
    Matrix input;                       ///< [2 * k + 2 * v, model_dim]: queries, keys, values, gates
    Matrix rates;                       ///< [2 * value_heads, model_dim]: how much is replaced, time steps
    CausalConv::Weights conv;           ///< of queries, keys and values
    std::vector<float> decay;           ///< [value_heads], -exp(A_log)
    std::vector<float> time_step_bias;  ///< [value_heads]
    RmsNorm::Weights norm;              ///< [value_dim]
    Matrix output;                      ///< [model_dim, v]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const {
    visit(&GatedDeltaNet::key_heads, KeyHeads(1));
    visit(&GatedDeltaNet::value_heads, ValueHeads(1));
  }
  constexpr StateAxes AxesOfState() const {
    StateAxes axes = {.state = {ValueHeads(static_cast<size_t>(key_dim) * static_cast<size_t>(value_dim))},
                      .inputs = ConvAxes()};
    conv().AddAxesOfState(axes.inputs, axes.state);
    axes.inputs.push_back(ValueHeads(1).Times(2));
    return axes;
  }

  template <class T>
  struct Pieces {
    T projected;    ///< queries, keys, values and gates, [rows, projected_dim()]
    T rates;        ///< [rows, rate_count()]
    T convolved;    ///< the convolution's outputs, queries, keys and values
    T mixed;        ///< the memory's outputs, [rows, values_dim()]
    T key_factors;  ///< of queries and keys, [2, key_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  void Replay(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t rate_count() const { return 2 * static_cast<size_t>(value_heads); }
  constexpr size_t keys_dim() const { return static_cast<size_t>(key_heads) * static_cast<size_t>(key_dim); }
  constexpr size_t values_dim() const { return static_cast<size_t>(value_heads) * static_cast<size_t>(value_dim); }
  constexpr size_t memory_floats() const { return values_dim() * static_cast<size_t>(key_dim); }
  constexpr size_t projected_dim() const { return conv().channels + values_dim(); }
  constexpr CausalConv conv() const {
    return {2 * keys_dim() + values_dim(), static_cast<size_t>(conv_width), /*silu=*/true, /*has_bias=*/false};
  }

  /// So many elements of each key head, and of each value head: a rank has key heads, each with the value heads that it
  /// serves, of which every tile has one where those are apart.
  constexpr Axis KeyHeads(size_t of_head) const {
    const auto count = static_cast<size_t>(key_heads);
    return {count * of_head, count};
  }
  constexpr Axis ValueHeads(size_t of_head) const {
    const auto of_key_head = static_cast<size_t>(value_heads / key_heads);
    return tiled ? KeyHeads(of_head).Times(of_key_head) : KeyHeads(of_key_head * of_head);
  }
  /// Queries, keys and values.
  constexpr std::vector<Axis> ConvAxes() const {
    return {KeyHeads(static_cast<size_t>(key_dim)).Times(2), ValueHeads(static_cast<size_t>(value_dim))};
  }

  /// Some files have all of one kind of part in a tensor, others all kinds for one key head after the other.
  std::vector<Part> InputParts() const;
  std::vector<Part> RateParts() const;

  /// mixed = what the memory gives for the rows, from the projection and the rates.
  void Recur(const Weights& weights, const LayerRun& run, Rows projected, Rows rates, Rows mixed) const;

  void Remember(const Weights& weights, const LayerRun& run, const float* convolved, const float* rates,
                float* mixed) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/gated_delta_net.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_GATED_DELTA_NET_H_
