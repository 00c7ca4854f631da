// SPDX-License-Identifier: Apache-2.0
//
// Cross-attention: queries of one model over the keys and values that another model keeps of a text in its cache, as
// the drafter of Gemma 4 has it. The layer has no keys and values of its own, and keeps nothing.

#ifndef SKALD_LAYERS_KINDS_CROSS_ATTENTION_H_
#define SKALD_LAYERS_KINDS_CROSS_ATTENTION_H_

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

/// A row at position p sees the keys before p, with a window those at the window - 1 positions before it. They are
/// those of the last layer of the other model that has as many kv heads, of the same size and window.
struct CrossAttention {
  static constexpr std::string_view kName = "cross-attention";

  /// Reads the keys and values of another layer (Attention::shared_layer, whose number means nothing here).
  Attention attention = {};

  friend constexpr bool operator==(const CrossAttention&, const CrossAttention&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("attention", self.attention);
  }

  constexpr const char* WhyImpossible() const {
    if (!attention.StateOfOther()) return "Cross-attention reads keys and values that it has no parameters for.";
    if (attention.window == 1 || attention.chunked) return "Cross-attention sees positions before its own.";
    return attention.WhyImpossible();
  }

  /// Those of the other model, which are there during the pass (WholeText::beside).
  constexpr std::optional<CacheGroup> StateOfPass() const {
    const auto other = attention.StateOfOther();
    if (!other) return std::nullopt;
    return other->state;
  }

  /// As those of `attention`.
  using Weights = Attention::Weights;
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    attention.ListParameters(weights, model_dim, list);
  }

  template <class T>
  using Pieces = Attention::Pieces<T>;
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const { return attention.ScratchFloats(rows, model_dim); }

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const { return attention.Places(); }

  void Run(const Weights& weights, const LayerRun& run) const { attention.Run(weights, run); }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_CROSS_ATTENTION_H_
