// SPDX-License-Identifier: Apache-2.0
//
// A layer of any type as one value: LayerSpec is what it is, LayerWeights are its parameters, LayerFunction computes
// it. A type of layers is a struct that says its sizes, its parameters, its state and its arithmetic once; a struct of
// a user's own is as good as ours.

#ifndef SKALD_LAYERS_SPEC_LAYER_SPEC_H_
#define SKALD_LAYERS_SPEC_LAYER_SPEC_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/run/scratch_pieces.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/field_visitor.h"
#include "skald/weights/parameters.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h
class Scratch;    // layers/run/scratch.h

template <class L>
concept SaysScratchFloats = requires(const L& layer, size_t rows, size_t model_dim) {
  { layer.ScratchFloats(rows, model_dim) } -> PieceSizes;
};

/// The members of a type of layers besides those of every component:
///   ListParameters(weights, model_dim, list)   adds each of them to the list, in a fixed order
///   ScratchFloats(rows, model_dim)   how many floats each piece of memory has that Run uses (scratch_pieces.h)
///   Run(weights, run)          computes run.output from run.input, both [rows, model_dim], and allocates nothing. Only
///                              Run needs layers/run/layer_run.h, so it can be defined in another file. A matrix of the
///                              layer multiplies all rows, so that adapters can add to its product, or is listed as
///                              that of an expert (Part::expert)
/// and, if it keeps state,
///   State()                    what it keeps: keys and values, or a fixed number of floats (cache/form/layout.h)
/// and, if it can compute such floats again from inputs that Run kept (KeepInputs), so that few states need to be kept,
///   Replay(weights, run)       writes the states after run.state's rows, and nothing else, in the bits that Run wrote
/// or, if it sees whole sequences at once, as the attention of encoders does,
///   StateOfPass()              the keys and values that it needs during one pass of them, and not after it
/// or, if it may read the state of an earlier layer instead,
///   StateOfOther()             of which one
/// and, if it reads what embeddings give each layer,
///   PerLayerDim()              how wide that is (ModelSpec::per_layer_dim)
/// and, if it gives rows to later layers or reads those of an earlier one, in run.carried,
///   Carried()                  which of the two, and how wide they are
/// and, if its state holds rows of its input,
///   InputDim()                 how wide those are: the model_dim of all models that it can be in
/// and, if ranks can each compute a part of it (else every rank computes all of it, but for the multiplications),
///   VisitAxes(visit)           calls visit(&L::member, axis) for each of its sizes that ranks partition, heads or
///                              columns, say, labelled as the axes of its parameters are (Axis). A rank's part is the
///                              same layer of fewer of them; its own parameters are those of the whole layer, and the
///                              rows that it carries are its own part of them
///   OfRank(share)              instead, where more differs in a rank's part than these sizes
/// and, if it is so partitioned with a fixed number of floats as its state,
///   AxesOfState()              the axes of these floats (StateAxes), from which State() follows (FloatsOf)
/// and, if callers of Forward may see what it computes on the way (model/hooks.h),
///   Places()                   where, in the order in which Run shows them (LayerRun::Watch, one call for each)
template <class L>
concept Layer = Component<L> && SaysScratchFloats<L> &&
    requires(const L& layer, typename L::Weights& weights, size_t model_dim, ParameterList& list, const LayerRun& run) {
  layer.ListParameters(weights, model_dim, list);
  layer.Run(weights, run);
};

template <class L>
concept LayerWithState = Layer<L> && requires(const L& layer) {
  { layer.State() } -> std::convertible_to<std::optional<CacheGroup>>;
};

template <class L>
concept ReplaysInputs = LayerWithState<L> &&
    requires(const L& layer, const typename L::Weights& weights, const LayerRun& run) {
  layer.Replay(weights, run);
};

/// Keys and values that a layer reads and another one keeps.
struct SharedState {
  uint32_t layer;    ///< the number of that one (Block::number)
  CacheGroup state;  ///< what it must keep
};
template <class L>
concept MayShareState = Layer<L> && requires(const L& layer) {
  { layer.StateOfOther() } -> std::same_as<std::optional<SharedState>>;
};

/// Keys and values that last for one pass.
template <class L>
concept NeedsWholeSequences = Layer<L> && requires(const L& layer) {
  { layer.StateOfPass() } -> std::same_as<std::optional<CacheGroup>>;
};

/// Rows that one layer of a pass gives, and later layers read: of the same tokens, so they are no state.
struct CarriedRows {
  int width;   ///< elements of a row
  bool gives;  ///< writes them, for the first time or anew; else reads them
};
template <class L>
concept CarriesRows = Layer<L> && requires(const L& layer) {
  { layer.Carried() } -> std::same_as<std::optional<CarriedRows>>;
};

template <class L>
concept KeepsItsInput = Layer<L> && requires(const L& layer) {
  { layer.InputDim() } -> std::same_as<int>;
};

/// A place inside a layer. Its values are rows of the pass, [rows, parts * part_cols].
struct LayerPlace {
  /// As part_cols: as many as a row of the model has.
  static constexpr size_t kModelDim = static_cast<size_t>(-1);

  std::string_view name;    ///< alive for good
  size_t part_cols;         ///< floats of a part; 0: one for each position (PlaceWatcher::ShowSome)
  size_t parts = 1;         ///< heads, say, side by side in a row
  bool may_change = true;   ///< whether Run goes on with what comes back
  bool of_choices = false;  ///< rows are those of experts, each of the rows that chose it (PlaceWatcher::ShowChoices)
};
template <class L>
concept HasPlaces = Layer<L> && requires(const L& layer) {
  { layer.Places() } -> std::same_as<std::vector<LayerPlace>>;
};

template <class L>
concept HasAxes = requires(const L& layer) {
  layer.VisitAxes([](int L::*, const Axis&) {});
};

template <class L>
concept SaysPartOfRank = requires(const L& layer, const RankShare& share) {
  { layer.OfRank(share) } -> std::same_as<L>;
};

/// Returns a rank's part of a layer: of each size that has a label, what this rank has.
template <HasAxes L>
constexpr L PartOf(const L& layer, const RankShare& share) {
  L part = layer;
  layer.VisitAxes([&](int L::*size, const Axis& axis) {
    part.*size = static_cast<int>(PartitionedSize(std::span(&axis, 1), share));
  });
  return part;
}

/// The axes of a fixed number of floats, in the order in which they lie; a rank's part of the layer has its part of
/// each in the same order, and no others.
struct StateAxes {
  std::vector<Axis> state;        ///< State().state_floats
  std::vector<Axis> inputs = {};  ///< what KeepInputs keeps of a token, for layers that replay
};
template <class L>
concept HasAxesOfState = LayerWithState<L> && requires(const L& layer) {
  { layer.AxesOfState() } -> std::same_as<StateAxes>;
};

/// Returns a state that has these axes.
constexpr CacheGroup FloatsOf(const StateAxes& axes) {
  const size_t floats = SizeOf(axes.state), inputs = SizeOf(axes.inputs);
  return {.state_floats = static_cast<uint32_t>(floats),
          .input_floats = inputs == 0 ? 0 : InputsToReplay(floats, inputs)};
}

template <class L>
concept ReadsPerLayerInputs = Layer<L> && requires(const L& layer) {
  { layer.PerLayerDim() } -> std::same_as<int>;
};

/// The parameters of a layer, of type L::Weights for a layer of type L.
using LayerWeights = ComponentWeights;

namespace internal {

void Grow(Scratch& scratch, std::span<const size_t> floats);

struct LayerInterface : ComponentInterface {
  constexpr ~LayerInterface() override = default;
  constexpr virtual const LayerInterface* Clone() const = 0;
  constexpr virtual std::optional<CacheGroup> State() const = 0;
  constexpr virtual std::optional<SharedState> StateOfOther() const = 0;
  constexpr virtual std::optional<CacheGroup> StateOfPass() const = 0;
  constexpr virtual int PerLayerDim() const = 0;
  constexpr virtual std::optional<CarriedRows> Carried() const = 0;
  constexpr virtual int InputDim() const = 0;
  constexpr virtual const LayerInterface* OfRank(const RankShare& share) const = 0;
  constexpr virtual StateAxes AxesOfState() const = 0;
  virtual void Reserve(size_t rows, size_t model_dim, Scratch& scratch) const = 0;
  virtual void ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const = 0;
  virtual std::vector<LayerPlace> Places() const = 0;
};

template <Layer L>
struct HeldLayer final : HeldComponent<L, LayerInterface> {
  using HeldComponent<L, LayerInterface>::HeldComponent;
  using HeldComponent<L, LayerInterface>::component;
  constexpr ~HeldLayer() override = default;
  constexpr const LayerInterface* Clone() const override { return new HeldLayer(component); }
  constexpr std::optional<CacheGroup> State() const override {
    std::optional<CacheGroup> state;
    if constexpr (LayerWithState<L>) state = component.State();
    if (state && !ReplaysInputs<L>) state->input_floats = 0;
    return state;
  }
  constexpr std::optional<SharedState> StateOfOther() const override {
    if constexpr (MayShareState<L>)
      return component.StateOfOther();
    else
      return std::nullopt;
  }
  constexpr std::optional<CacheGroup> StateOfPass() const override {
    if constexpr (NeedsWholeSequences<L>)
      return component.StateOfPass();
    else
      return std::nullopt;
  }
  constexpr int PerLayerDim() const override {
    if constexpr (ReadsPerLayerInputs<L>)
      return component.PerLayerDim();
    else
      return 0;
  }
  constexpr std::optional<CarriedRows> Carried() const override {
    if constexpr (CarriesRows<L>)
      return component.Carried();
    else
      return std::nullopt;
  }
  constexpr int InputDim() const override {
    if constexpr (KeepsItsInput<L>)
      return component.InputDim();
    else
      return 0;
  }
  constexpr const LayerInterface* OfRank([[maybe_unused]] const RankShare& share) const override {
    if constexpr (SaysPartOfRank<L>)
      return new HeldLayer(component.OfRank(share));
    else if constexpr (HasAxes<L>)
      return new HeldLayer(PartOf(component, share));
    else
      return Clone();
  }
  constexpr StateAxes AxesOfState() const override {
    if constexpr (HasAxesOfState<L>) return component.AxesOfState();
    const CacheGroup whole = State().value_or(CacheGroup());
    return {.state = {{whole.state_floats}}, .inputs = {{whole.input_floats}}};
  }
  void Reserve(size_t rows, size_t model_dim, Scratch& scratch) const override {
    Grow(scratch, ListPieces(component.ScratchFloats(rows, model_dim)));
  }
  void ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const override {
    component.ListParameters(static_cast<WeightsOf<L>&>(weights).weights, model_dim, list);
  }
  std::vector<LayerPlace> Places() const override {
    if constexpr (HasPlaces<L>)
      return component.Places();
    else
      return {};
  }
};

}  // namespace internal

/// A plain value, also at compile time.
class LayerSpec : public internal::ComponentSpec<internal::LayerInterface> {
 public:
  /// Holds a copy of the layer.
  template <Layer L>
  constexpr LayerSpec(const L& layer)  // NOLINT: a layer is a LayerSpec
      : ComponentSpec(new internal::HeldLayer<L>(layer)) {}

  constexpr void VisitFields(FieldVisitor& visit) const { held_->Visit(visit); }

  /// The layer's state; nothing for layers without state.
  constexpr std::optional<CacheGroup> State() const { return held_->State(); }

  /// The state that it reads of another layer; nothing for most.
  constexpr std::optional<SharedState> StateOfOther() const { return held_->StateOfOther(); }

  /// The keys and values that it needs during a pass of whole sequences alone; nothing for most.
  constexpr std::optional<CacheGroup> StateOfPass() const { return held_->StateOfPass(); }

  /// The width of what embeddings give the layer; 0 for most.
  constexpr int PerLayerDim() const { return held_->PerLayerDim(); }

  /// The rows that it gives to later layers, or reads; nothing for most.
  constexpr std::optional<CarriedRows> Carried() const { return held_->Carried(); }

  /// The model_dim that it needs; 0 for most, which go with any.
  constexpr int InputDim() const { return held_->InputDim(); }

  /// The part of it that one of several ranks computes: all of it for layers that are not partitioned.
  constexpr LayerSpec OfRank(const RankShare& share) const { return LayerSpec(held_->OfRank(share)); }

  /// The axes of its state, where that is a fixed number of floats: every rank has all of them where the layer does not
  /// say otherwise.
  constexpr StateAxes AxesOfState() const { return held_->AxesOfState(); }

  /// Makes room for what Run needs for so many rows.
  void Reserve(size_t rows, size_t model_dim, Scratch& scratch) const { held_->Reserve(rows, model_dim, scratch); }

  /// Lists the parameters in `weights`, which MakeWeights made.
  void ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const;

  /// The places inside it that callers of Forward may watch; none for layers that say nothing of them.
  std::vector<LayerPlace> Places() const { return held_->Places(); }

 private:
  constexpr explicit LayerSpec(const internal::LayerInterface* held) : ComponentSpec(held) {}
};

/// How layers of one type are computed. Apart from LayerSpec, so that a program compiles the arithmetic of the types
/// that its models have, and no others.
struct LayerFunction {
  /// Computes one layer: its Run or its Replay.
  using Function = void (*)(const LayerSpec& layer, const LayerWeights& weights, const LayerRun& run);

  const void* type;  ///< identifies the type of layers: LayerSpec::type()
  Function run;      ///< computes rows
  Function replay;   ///< does nothing for layers whose states are kept
};

template <Layer L>
constexpr LayerFunction LayerFunctionOf() {
  const auto run = [](const LayerSpec& layer, const LayerWeights& weights, const LayerRun& given) {
    layer.As<L>()->Run(static_cast<const internal::WeightsOf<L>&>(weights).weights, given);
  };
  const auto replay = [](const LayerSpec& layer, const LayerWeights& weights, const LayerRun& given) {
    if constexpr (ReplaysInputs<L>) {
      layer.As<L>()->Replay(static_cast<const internal::WeightsOf<L>&>(weights).weights, given);
    }
  };
  return {&internal::kTypeOf<L>, run, replay};
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/spec/detail/layer_spec.h"
#endif

#endif  // SKALD_LAYERS_SPEC_LAYER_SPEC_H_
