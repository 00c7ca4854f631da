// SPDX-License-Identifier: Apache-2.0
//
// A norm of any type as one value: NormSpec is what it is and computes it, NormWeights are its parameters. A type of
// norms is a struct that says its options, its parameters and its arithmetic once; a struct of a user's own is as good
// as ours.

#ifndef SKALD_LAYERS_SPEC_NORM_H_
#define SKALD_LAYERS_SPEC_NORM_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "skald/layers/run/rows.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/field_visitor.h"
#include "skald/weights/parameters.h"

namespace skald {

struct RmsNorm;
class Operations;  // layers/run/operations.h

/// All that a norm is given to normalise rows, each by itself.
struct NormRun {
  Operations& ops;  ///< the arithmetic, with its threads
  /// Rows; elements of each.
  size_t rows, size;
  Rows input;   ///< [rows, size]
  Rows output;  ///< [rows, size], to be written whole; may be `input`
};

/// The members of a type of norms besides those of every component:
///   ListParameters(weights, name, size, list)   adds each of them to the list, for rows of `size` elements; in files
///                                               their names begin with `name`, as in "input_layernorm.weight"
///   Run(weights, run)                           computes run.output from run.input, and allocates nothing
template <class N>
concept Norm = Component<N> && requires(const N& norm, typename N::Weights& weights, std::string_view name, size_t size,
                                        ParameterList& list, const NormRun& run) {
  norm.ListParameters(weights, name, size, list);
  norm.Run(weights, run);
};

namespace internal {

struct NormInterface : ComponentInterface {
  constexpr ~NormInterface() override = default;
  constexpr virtual const NormInterface* Clone() const = 0;
  virtual void ListParameters(ComponentWeights& weights, std::string_view name, size_t size,
                              ParameterList& list) const = 0;
  virtual void Run(const ComponentWeights& weights, const NormRun& run) const = 0;
};

template <Norm N>
struct HeldNorm final : HeldComponent<N, NormInterface> {
  using HeldComponent<N, NormInterface>::HeldComponent;
  using HeldComponent<N, NormInterface>::component;
  constexpr ~HeldNorm() override = default;
  constexpr const NormInterface* Clone() const override { return new HeldNorm(component); }
  void ListParameters(ComponentWeights& weights, std::string_view name, size_t size,
                      ParameterList& list) const override {
    component.ListParameters(static_cast<WeightsOf<N>&>(weights).weights, name, size, list);
  }
  void Run(const ComponentWeights& weights, const NormRun& run) const override {
    component.Run(static_cast<const WeightsOf<N>&>(weights).weights, run);
  }
};

}  // namespace internal

/// The parameters of a norm over rows of `size` elements; none where a model has no such norm.
struct NormWeights {
  size_t size = 0;
  std::unique_ptr<ComponentWeights> held = nullptr;  ///< null: no norm

  bool empty() const { return held == nullptr; }

  /// The parameters themselves, of a norm of type N.
  template <Norm N>
  const typename N::Weights& Of() const {
    return static_cast<const internal::WeightsOf<N>&>(*held).weights;
  }
};

/// A plain value, also at compile time.
class NormSpec : public internal::ComponentSpec<internal::NormInterface> {
 public:
  /// Holds a copy of the norm.
  template <Norm N>
  constexpr NormSpec(const N& norm)  // NOLINT: a norm is a NormSpec
      : ComponentSpec(new internal::HeldNorm<N>(norm)) {}

  /// RMSNorm goes without a name: it is older than the others, and fingerprints last.
  static constexpr void VisitFields(const NormSpec& self, FieldVisitor& visit) {
    if (self.type() != &internal::kTypeOf<RmsNorm>) visit("type", self.name());
    self.held_->Visit(visit);
  }

  /// Lists the parameters of this norm over `size` elements, and makes room for them in `weights` if there is none.
  void ListParameters(NormWeights& weights, std::string_view name, size_t size, ParameterList& list) const;

  /// output = norm of each row of input; `output` may be `input`.
  void Run(const NormWeights& weights, Operations& ops, Rows input, size_t rows, Rows output) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/spec/detail/norm.h"
#endif

#endif  // SKALD_LAYERS_SPEC_NORM_H_
