// SPDX-License-Identifier: Apache-2.0
//
// Mixture of experts (Shazeer et al. 2017, arXiv:1701.06538; as Mixtral has it, Jiang et al. 2024, arXiv:2401.04088): a
// router scores all experts, which are gated feed-forward layers, for each row; the few with the highest scores compute
// it, and their outputs are added up with weights that follow from the scores (expert_router.h). A shared expert may
// compute all rows (DeepSeekMoE, Dai et al. 2024, arXiv:2401.06066).
//
// Rows that chose an expert are multiplied together, and several experts at once, so that threads need not wait for
// each other between them; no row depends on what others choose (kernels/ARITHMETIC.md).

#ifndef SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_
#define SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/layers/kinds/columns.h"
#include "skald/layers/kinds/expert_router.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

namespace internal {
class ExpertsRun;  // layers/kinds/detail/mixture_of_experts.h
}  // namespace internal

struct MixtureOfExperts {
  static constexpr std::string_view kName = "mixture of experts";

  int experts = 0;                            ///< that the router chooses among; the shared one is not counted
  int chosen = 0;                             ///< for each row
  int width = 0;                              ///< of each expert
  Activation activation = Activation::kSilu;  ///< of the experts' gates
  bool normalized = true;  ///< whether the weights of the chosen experts add up to 1, or to what all scores give them
  bool bias = false;       ///< of the router and all projections
  bool sigmoid = false;    ///< weights are sigmoids of the router's scores, not a softmax of them
  bool selection_bias = false;  ///< experts are chosen by their weights plus a bias of each
  int groups = 1;               ///< of neighbours, of equal size
  int chosen_groups = 1;        ///< groups that experts are chosen among: the best by the sum of their two best experts
  float sum_epsilon = 0.0f;     ///< added to the sum that weights are divided by
  float weight_scale = 1.0f;    ///< weights are multiplied by it in the end
  int shared_width = 0;         ///< of an expert that computes all rows; 0: there is none
  bool shared_gate = false;     ///< whether a sigmoid of the row weighs it
  bool gated = true;   ///< whether experts multiply what they make of a row by a gate, which their activation is of
  int latent_dim = 0;  ///< of a narrower row that experts compute, between two projections; 0: they compute the row
  /// Not 0: the weight of the best expert is its share in a softmax of the scores that are below its own by at most so
  /// much of the larger of it and their absolute value; the others follow in the same way, each without those before.
  float mixer_reach = 0.0f;
  int carried_dim = 0;  ///< not 0: the router reads rows so wide that a layer before gave, not those of the experts
  bool weighs_input = false;  ///< experts compute the row times its weight, instead of being weighed by it
  bool sum_bias = false;      ///< one bias is added to what the experts of a row give together
  int whole_width = 0;        ///< of one rank's part (OfRank): the widest expert of the whole; no fact of a model

  friend constexpr bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("experts", self.experts);
    visit("chosen", self.chosen);
    visit("width", self.width);
    visit("activation", self.activation);
    visit("normalized", self.normalized);
    VisitUnless(false, "bias", self.bias, visit);
    VisitUnless(false, "sigmoid", self.sigmoid, visit);
    VisitUnless(false, "selection_bias", self.selection_bias, visit);
    VisitUnless(1, "groups", self.groups, visit);
    VisitUnless(1, "chosen_groups", self.chosen_groups, visit);
    VisitUnless(0.0f, "sum_epsilon", self.sum_epsilon, visit);
    VisitUnless(1.0f, "weight_scale", self.weight_scale, visit);
    VisitUnless(0, "shared_width", self.shared_width, visit);
    VisitUnless(false, "shared_gate", self.shared_gate, visit);
    VisitUnless(true, "gated", self.gated, visit);
    VisitUnless(0, "latent_dim", self.latent_dim, visit);
    VisitUnless(0.0f, "mixer_reach", self.mixer_reach, visit);
    VisitUnless(0, "carried_dim", self.carried_dim, visit);
    VisitUnless(false, "weighs_input", self.weighs_input, visit);
    VisitUnless(false, "sum_bias", self.sum_bias, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (experts <= 0 || width <= 0) return "A mixture of experts must have experts, of a positive width.";
    if (chosen <= 0 || chosen > experts) return "The experts chosen for a row must be 1 to all that there are.";
    if (!sigmoid && groups != 1) return "Experts in groups must be weighed by sigmoids.";
    if (groups <= 0 || experts % groups != 0) return "Groups of experts must be of the same size.";
    if (chosen_groups <= 0 || chosen_groups > groups) {
      return "The groups that experts are chosen from must be 1 to all that there are.";
    }
    if (chosen > experts / groups * chosen_groups) {
      return "The experts chosen for a row must not be more than the chosen groups have.";
    }
    if (!(sum_epsilon >= 0.0f && sum_epsilon <= 1.0f)) return "The epsilon of experts' weights must be from 0 to 1.";
    if (!(weight_scale > 0.0f && weight_scale <= 1e30f)) return "The scale of experts' weights must be positive.";
    if (!(mixer_reach >= 0.0f && mixer_reach < 1.0f)) return "The reach of experts that weigh in must be from 0 to 1.";
    if (mixer_reach > 0.0f && (sigmoid || selection_bias || !normalized)) {
      return "Experts that are weighed against their neighbours have a softmax of scores without biases.";
    }
    if (carried_dim < 0) return "The width of rows that a router reads must not be negative.";
    if (shared_width < 0) return "The width of a shared expert must not be negative.";
    if (latent_dim < 0) return "The width of rows that experts compute must not be negative.";
    if (bias && (shared_width > 0 || latent_dim > 0)) {
      return "Experts with biases have none that rows share, and no latent space.";
    }
    if (!gated && activation == Activation::kClampedSwiglu) return "Experts without a gate have none to clamp.";
    if (activation == Activation::kXielu) return kXieluElsewhere;
    if (shared_gate && shared_width == 0) return "A gate of shared experts needs one that it weighs.";
    return nullptr;
  }

  constexpr std::optional<CarriedRows> Carried() const {
    if (carried_dim == 0) return std::nullopt;
    return CarriedRows{carried_dim, /*gives=*/false};
  }

  /// With d the width of the rows that experts compute, and without gate rows where they have no gates:
  struct Weights {
    Matrix router;                                            ///< [experts, model_dim or carried_dim], always F32
    std::vector<Matrix> gate_up;                              ///< [experts] of [2 * width, d]: gate rows, then up rows
    std::vector<Matrix> down;                                 ///< [experts] of [d, width]
    std::vector<float> router_bias;                           ///< [experts], or empty
    std::vector<std::vector<float>> gate_up_bias, down_bias;  ///< [experts] of [2 * width] and [d], or of empty
    std::vector<float> sum_bias;                              ///< [model_dim], or empty
    std::vector<float> selection_bias;                        ///< [experts], or empty
    Matrix latent_in, latent_out;                             ///< [latent_dim, model_dim] and back
    Matrix shared_gate_up, shared_down;  ///< as those of one expert, of shared_width, for rows of model_dim
    Matrix shared_gate;                  ///< [1, model_dim], always F32
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  /// The columns of every expert: how many rows choose an expert of its own would leave ranks idle. The router is
  /// small, and every rank's.
  constexpr void VisitAxes(auto visit) const {
    visit(&MixtureOfExperts::width, Columns(width));
    visit(&MixtureOfExperts::shared_width, Columns(shared_width));
  }
  constexpr MixtureOfExperts OfRank(const RankShare& share) const {
    MixtureOfExperts part = PartOf(*this, share);
    part.whole_width = std::max(width, shared_width);
    return part;
  }

  /// With d the width of the rows that experts compute, and n as many rows as are multiplied at once:
  template <class T>
  struct Pieces {
    T scores;          ///< of all experts, then their weights, [rows, experts]
    T ranks;           ///< of one row's experts, for the router, [2 * experts]
    T gathered;        ///< rows that chose some experts, [n, d]
    T gate_up;         ///< what their first projections give, [n, 2 * widest expert]
    T gated;           ///< what goes into their second ones, [RoundUp(n, kRowBlock), widest expert]
    T outputs;         ///< of experts, [n, d]
    T shared_weights;  ///< of the shared expert, [rows]
    T latent_in;       ///< rows that experts compute, [rows, latent_dim]
    T latent_out;      ///< what they make of them, [rows, latent_dim]
    T together;        ///< what multiplications by some experts need
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  /// The same where the router reads other rows than the experts, [rows, model_dim], and the weight of each chosen
  /// expert is multiplied by its factor, [experts] or none.
  void RunRouted(const Weights& weights, const LayerRun& run, Rows router_input, std::span<const float> factors) const;

 private:
  constexpr ExpertRouter router() const {
    return {.experts = static_cast<size_t>(experts),
            .chosen = static_cast<size_t>(chosen),
            .normalized = normalized,
            .sigmoid = sigmoid,
            .groups = static_cast<size_t>(groups),
            .chosen_groups = static_cast<size_t>(chosen_groups),
            .sum_epsilon = sum_epsilon,
            .weight_scale = weight_scale,
            .mixer_reach = mixer_reach};
  }

  ExpertIndex Index(size_t expert) const { return {expert, static_cast<size_t>(experts), static_cast<size_t>(chosen)}; }

  size_t ExpertDim(size_t model_dim) const { return latent_dim > 0 ? static_cast<size_t>(latent_dim) : model_dim; }

  void ListBiases(Weights& weights, size_t dim, ParameterList& list) const;

  void ListShared(Weights& weights, size_t model_dim, ParameterList& list) const;

  /// The rows of experts that are multiplied at once, at most: all where they are few, and always those of one expert.
  size_t RowsTogether(size_t rows) const;

  friend class internal::ExpertsRun;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/mixture_of_experts.h"
#endif

#endif  // SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_
