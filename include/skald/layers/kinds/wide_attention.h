// SPDX-License-Identifier: Apache-2.0
//
// Attention whose queries, keys and values are made from two rows side by side, as the heads of EAGLE-3 have it (Li et
// al. 2025, arXiv:2503.01840): one that an earlier layer gave, CarriedInput, and that of the residual stream.

#ifndef SKALD_LAYERS_KINDS_WIDE_ATTENTION_H_
#define SKALD_LAYERS_KINDS_WIDE_ATTENTION_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

/// Gives its input to later layers, and nothing to the residual stream.
struct CarriedInput {
  static constexpr std::string_view kName = "carried input";

  int width = 0;  ///< of the residual stream

  friend constexpr bool operator==(const CarriedInput&, const CarriedInput&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
  }

  constexpr const char* WhyImpossible() const {
    return width > 0 ? nullptr : "The width of rows that a layer gives to later ones must be positive.";
  }

  constexpr std::optional<CarriedRows> Carried() const { return CarriedRows{width, /*gives=*/true}; }

  struct Weights {};
  void ListParameters(Weights& /*weights*/, size_t /*model_dim*/, ParameterList& /*list*/) const {}

  template <class T>
  struct Pieces {};
  Pieces<size_t> ScratchFloats(size_t /*rows*/, size_t /*model_dim*/) const { return {}; }

  void Run(const Weights& weights, const LayerRun& run) const;
};

struct WideAttention {
  static constexpr std::string_view kName = "wide attention";

  Attention attention = {};  ///< without norms, biases or gates of its own
  int width = 0;             ///< of the rows that an earlier layer gives

  friend constexpr bool operator==(const WideAttention&, const WideAttention&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("attention", self.attention);
    visit("width", self.width);
  }

  constexpr const char* WhyImpossible() const {
    Attention plain = attention;
    plain.head_norm = plain.projection_norm = plain.value_norm = {};
    plain.qkv_bias = plain.output_bias = plain.sinks = plain.keys_as_values = plain.output_gate = false;
    plain.shared_layer = -1;
    if (!(plain == attention)) return "Wide attention has no norms, biases, sinks or gates.";
    return attention.WhyImpossible();
  }

  constexpr std::optional<CarriedRows> Carried() const { return CarriedRows{width, /*gives=*/false}; }
  constexpr std::optional<CacheGroup> State() const { return attention.State(); }

  using Weights = Attention::Weights;
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {
    Attention::Pieces<T> of_attention;  ///< of `attention`
    T both;                             ///< rows side by side, [rows, width + model_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/wide_attention.h"
#endif

#endif  // SKALD_LAYERS_KINDS_WIDE_ATTENTION_H_
