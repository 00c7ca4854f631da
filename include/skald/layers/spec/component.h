// SPDX-License-Identifier: Apache-2.0
//
// Component: a struct that describes one part of a model, a layer or a norm; and a value that holds a component of any
// type, with the operations of both kinds.

#ifndef SKALD_LAYERS_SPEC_COMPONENT_H_
#define SKALD_LAYERS_SPEC_COMPONENT_H_

#include <concepts>
#include <memory>
#include <string_view>
#include <utility>

#include "skald/layers/spec/field_visitor.h"

namespace skald {

template <class T>
concept HasName = requires {
  { T::kName } -> std::convertible_to<std::string_view>;
};

template <class T>
concept SaysWhyImpossible = requires(const T& value) {
  { value.WhyImpossible() } -> std::same_as<const char*>;
};

/// The members of every type of layers or norms. Plain members are its sizes and options, comparable; besides:
///   kName                      tells it from other types, in fingerprints and messages
///   VisitFields(self, visit)   static: calls visit(name, self.member) for every member that changes a number
///   WhyImpossible()            a sentence about sizes that no such component can have, or null
///   Weights                    its parameters, default-constructible
template <class T>
concept Component = HasName<T> && HasVisitFields<T> && SaysWhyImpossible<T> &&
    std::default_initializable<typename T::Weights> && std::copyable<T> && std::equality_comparable<T>;

/// The parameters of a component, of type T::Weights for one of type T.
class ComponentWeights {
 public:
  virtual ~ComponentWeights() = default;
};

namespace internal {

template <class T>
struct WeightsOf final : ComponentWeights {
  typename T::Weights weights;
};

/// Its address names the type.
template <class T>
inline constexpr char kTypeOf = 0;

struct ComponentInterface {
  constexpr virtual ~ComponentInterface() = default;
  constexpr virtual bool Equals(const ComponentInterface& other) const = 0;
  constexpr virtual std::string_view Name() const = 0;
  constexpr virtual const void* Type() const = 0;
  constexpr virtual void Visit(FieldVisitor& visit) const = 0;
  constexpr virtual const char* WhyImpossible() const = 0;
  virtual std::unique_ptr<ComponentWeights> MakeWeights() const = 0;
};

/// Interface adds to the above what only layers or only norms can do, and Clone.
template <Component T, class Interface>
struct HeldComponent : Interface {
  constexpr explicit HeldComponent(const T& c) : component(c) {}
  constexpr ~HeldComponent() override = default;
  constexpr bool Equals(const ComponentInterface& other) const override {
    return other.Type() == Type() && static_cast<const HeldComponent&>(other).component == component;
  }
  constexpr std::string_view Name() const override { return T::kName; }
  constexpr const void* Type() const override { return &kTypeOf<T>; }
  constexpr void Visit(FieldVisitor& visit) const override { T::VisitFields(component, visit); }
  constexpr const char* WhyImpossible() const override { return component.WhyImpossible(); }
  std::unique_ptr<ComponentWeights> MakeWeights() const override { return std::make_unique<WeightsOf<T>>(); }

  T component;
};

/// A component of any type that has this interface, as a plain value, also at compile time.
template <class Interface>
class ComponentSpec {
 public:
  constexpr ComponentSpec(const ComponentSpec& other) : held_(other.held_->Clone()) {}
  constexpr ComponentSpec(ComponentSpec&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  constexpr ComponentSpec& operator=(ComponentSpec other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  constexpr ~ComponentSpec() { delete held_; }

  friend constexpr bool operator==(const ComponentSpec& a, const ComponentSpec& b) { return a.held_->Equals(*b.held_); }

  constexpr std::string_view name() const { return held_->Name(); }

  /// Names the type: equal for components of one type, and for no others.
  constexpr const void* type() const { return held_->Type(); }

  /// The component, or null if it is of another type.
  template <Component T>
  constexpr const T* As() const {
    return type() == &kTypeOf<T> ? &static_cast<const HeldComponent<T, Interface>*>(held_)->component : nullptr;
  }

  /// The error in its sizes, in a sentence, or null.
  constexpr const char* WhyImpossible() const { return held_->WhyImpossible(); }

  /// Room for its parameters.
  std::unique_ptr<ComponentWeights> MakeWeights() const { return held_->MakeWeights(); }

 protected:
  constexpr explicit ComponentSpec(const Interface* held) : held_(held) {}

  const Interface* held_;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_LAYERS_SPEC_COMPONENT_H_
