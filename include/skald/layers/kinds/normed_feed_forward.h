// SPDX-License-Identifier: Apache-2.0
//
// A dense feed-forward layer beside a mixture of experts, each between two norms of its own, as Gemma 4 has them. The
// router reads the residual stream, normalised without weights and multiplied by a learned scale / sqrt(model_dim); the
// weight of each expert is multiplied by a learned factor.

#ifndef SKALD_LAYERS_KINDS_NORMED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_NORMED_FEED_FORWARD_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct NormedFeedForward {
  static constexpr std::string_view kName = "normed feed-forward beside experts";

  GatedFeedForward dense = {};    ///< computes all rows
  MixtureOfExperts experts = {};  ///< compute some rows each
  float epsilon = 1e-6f;          ///< of all norms

  friend constexpr bool operator==(const NormedFeedForward&, const NormedFeedForward&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("dense", self.dense);
    visit("experts", self.experts);
    visit("epsilon", self.epsilon);
  }

  constexpr const char* WhyImpossible() const {
    if (const char* why = dense.WhyImpossible()) return why;
    if (const char* why = experts.WhyImpossible()) return why;
    return norm().WhyImpossible();
  }

  struct Weights {
    GatedFeedForward::Weights dense;                                                ///< of `dense`
    MixtureOfExperts::Weights experts;                                              ///< of `experts`
    std::vector<float> before_dense, behind_dense, before_experts, behind_experts;  ///< [model_dim]
    std::vector<float> router_scale;    ///< [model_dim], over its square root
    std::vector<float> expert_factors;  ///< [experts]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr NormedFeedForward OfRank(const RankShare& share) const {
    return {.dense = PartOf(dense, share), .experts = experts.OfRank(share), .epsilon = epsilon};
  }

  template <class T>
  struct Pieces {
    MixtureOfExperts::Pieces<T> of_layers;  ///< of both, one after the other; those of the dense one are its first ones
    T normed;                               ///< the rows that a layer reads, [rows, model_dim]
    T routed;                               ///< those that the router reads, [rows, model_dim]
    T mixed;                                ///< what experts give, [rows, model_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr RmsNorm norm() const { return {.epsilon = epsilon}; }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/normed_feed_forward.h"
#endif

#endif  // SKALD_LAYERS_KINDS_NORMED_FEED_FORWARD_H_
