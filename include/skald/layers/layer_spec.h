// SPDX-License-Identifier: Apache-2.0
//
// A layer of any type as one value: LayerSpec is what it is, LayerWeights are its parameters, LayerFunction computes
// it. A type of layers is a struct that says its sizes, its parameters, its state and its arithmetic once; a struct of
// a user's own is as good as ours.

#ifndef SKALD_LAYERS_LAYER_SPEC_H_
#define SKALD_LAYERS_LAYER_SPEC_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "skald/cache/form/layout.h"
#include "skald/layers/layer_run.h"
#include "skald/layers/norm.h"
#include "skald/layers/scratch.h"
#include "skald/weights/parameters.h"

namespace skald {

// Is told the facts of a layer or model, name by name: what fingerprints and comparisons are made of.
class FieldVisitor {
 public:
  constexpr virtual ~FieldVisitor() = default;

  constexpr virtual void Integer(std::string_view name, int64_t value) = 0;
  constexpr virtual void Real(std::string_view name, double value) = 0;
  constexpr virtual void Text(std::string_view name, std::string_view value) = 0;

  template <class T>
  constexpr void operator()(std::string_view name, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      Integer(name, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      Real(name, value);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      Text(name, value);
    } else {
      Visit(name, value);
    }
  }

 private:
  template <class T>
  requires std::is_enum_v<T>
  constexpr void Visit(std::string_view name, T value) { Text(name, NameOf(value)); }
  template <class T>
  constexpr void Visit(std::string_view name, const std::optional<T>& value) {
    Integer(name, value.has_value());
    if (value) (*this)(name, *value);
  }
  template <class T>
  requires requires(const T& value, FieldVisitor& visitor) { T::VisitFields(value, visitor); }
  constexpr void Visit(std::string_view name, const T& value) {
    Text(name, "{");
    T::VisitFields(value, *this);
    Text(name, "}");
  }
};

// What a type of layers must say. Plain members are its sizes and options, comparable; besides:
//   kName                      tells it from other types, in fingerprints and messages
//   VisitFields(self, visit)   static: calls visit(name, self.member) for every member that changes a number
//   WhyImpossible()            a sentence about sizes that no layer can have, or null
//   Weights                    its parameters, default-constructible
//   ListParameters(weights, model_dim, list)   adds each of them to the list, in a fixed order
//   ScratchFloats(rows)        how many floats of memory Run uses for so many rows: run.scratch[0], [1] and so on
//   Run(weights, run)          computes run.output from run.input, both [rows, model_dim], and allocates nothing
// and, if it keeps state,
//   State()                    what it keeps: keys and values, or a fixed number of floats (cache/layout.h)
template <class L>
concept Layer = requires {
  { L::kName } -> std::convertible_to<std::string_view>;
}
&&std::copyable<L>&& std::equality_comparable<L>&& requires(const L& layer, typename L::Weights& weights,
                                                            ParameterList& list, const LayerRun& run,
                                                            FieldVisitor& visit) {
  L::VisitFields(layer, visit);
  { layer.WhyImpossible() } -> std::same_as<const char*>;
  layer.ListParameters(weights, size_t{}, list);
  {std::span<const size_t>(layer.ScratchFloats(size_t{}))};
  layer.Run(weights, run);
};

template <class L>
concept LayerWithState = Layer<L> && requires(const L& layer) {
  { layer.State() } -> std::same_as<CacheGroup>;
};

// The parameters of a layer, of type L::Weights for a layer of type L.
class LayerWeights {
 public:
  virtual ~LayerWeights() = default;
};

namespace internal {

template <class L>
struct WeightsOf final : LayerWeights {
  typename L::Weights weights;
};

// Its address names the type.
template <class L>
inline constexpr char kLayerType = 0;

}  // namespace internal

// A plain value, also at compile time.
class LayerSpec {
 public:
  template <class L>
  requires(!std::same_as<L, LayerSpec> && Layer<L>) constexpr LayerSpec(const L& layer)
      : held_(new Held<L>(layer)) {}  // NOLINT: a layer is a LayerSpec
  constexpr LayerSpec(const LayerSpec& other) : held_(other.held_->Clone()) {}
  constexpr LayerSpec(LayerSpec&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  constexpr LayerSpec& operator=(LayerSpec other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  constexpr ~LayerSpec() { delete held_; }

  friend constexpr bool operator==(const LayerSpec& a, const LayerSpec& b) { return a.held_->Equals(*b.held_); }

  constexpr std::string_view name() const { return held_->Name(); }

  // Names the layer's type: equal for layers of one type, and for no others.
  constexpr const void* type() const { return held_->Type(); }

  // The layer, or null if it is of another type.
  template <Layer L>
  constexpr const L* As() const {
    return type() == &internal::kLayerType<L> ? &static_cast<const Held<L>*>(held_)->layer : nullptr;
  }

  constexpr void VisitFields(FieldVisitor& visit) const { held_->Visit(visit); }

  // What is wrong with its sizes, in a sentence, or null.
  constexpr const char* WhyImpossible() const { return held_->WhyImpossible(); }

  // What the layer keeps; nothing for layers without state.
  constexpr std::optional<CacheGroup> State() const { return held_->State(); }

  // Makes room for what Run needs for so many rows.
  void Reserve(size_t rows, Scratch& scratch) const { held_->Reserve(rows, scratch); }

  // Room for its parameters, and the list of them.
  std::unique_ptr<LayerWeights> MakeWeights() const { return held_->MakeWeights(); }
  void ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const {
    held_->ListParameters(weights, model_dim, list);
  }

 private:
  struct Interface {
    constexpr virtual ~Interface() = default;
    constexpr virtual const Interface* Clone() const = 0;
    constexpr virtual bool Equals(const Interface& other) const = 0;
    constexpr virtual std::string_view Name() const = 0;
    constexpr virtual const void* Type() const = 0;
    constexpr virtual void Visit(FieldVisitor& visit) const = 0;
    constexpr virtual const char* WhyImpossible() const = 0;
    constexpr virtual std::optional<CacheGroup> State() const = 0;
    virtual void Reserve(size_t rows, Scratch& scratch) const = 0;
    virtual std::unique_ptr<LayerWeights> MakeWeights() const = 0;
    virtual void ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const = 0;
  };

  template <class L>
  struct Held final : Interface {
    constexpr explicit Held(const L& l) : layer(l) {}
    constexpr ~Held() override {}  // NOLINT: g++ 12 needs it spelled out to run it while compiling
    constexpr const Interface* Clone() const override { return new Held(layer); }
    constexpr bool Equals(const Interface& other) const override {
      return other.Type() == Type() && static_cast<const Held&>(other).layer == layer;
    }
    constexpr std::string_view Name() const override { return L::kName; }
    constexpr const void* Type() const override { return &internal::kLayerType<L>; }
    constexpr void Visit(FieldVisitor& visit) const override { L::VisitFields(layer, visit); }
    constexpr const char* WhyImpossible() const override { return layer.WhyImpossible(); }
    constexpr std::optional<CacheGroup> State() const override {
      if constexpr (LayerWithState<L>)
        return layer.State();
      else
        return std::nullopt;
    }
    void Reserve(size_t rows, Scratch& scratch) const override { scratch.Grow(layer.ScratchFloats(rows)); }
    std::unique_ptr<LayerWeights> MakeWeights() const override { return std::make_unique<internal::WeightsOf<L>>(); }
    void ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const override {
      layer.ListParameters(static_cast<internal::WeightsOf<L>&>(weights).weights, model_dim, list);
    }

    L layer;
  };

  const Interface* held_;
};

// How layers of one type are computed. Apart from LayerSpec, so that a program compiles the arithmetic of the types
// that its models have, and no others.
struct LayerFunction {
  const void* type;
  void (*run)(const LayerSpec& layer, const LayerWeights& weights, const LayerRun& run);
};

template <Layer L>
constexpr LayerFunction LayerFunctionOf() {
  return {&internal::kLayerType<L>, [](const LayerSpec& layer, const LayerWeights& weights, const LayerRun& run) {
            layer.As<L>()->Run(static_cast<const internal::WeightsOf<L>&>(weights).weights, run);
          }};
}

}  // namespace skald

#endif  // SKALD_LAYERS_LAYER_SPEC_H_
