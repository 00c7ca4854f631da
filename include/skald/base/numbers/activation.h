// SPDX-License-Identifier: Apache-2.0
//
// Activation: the nonlinear functions that layers apply elementwise, built in or defined by a user.

#ifndef SKALD_BASE_NUMBERS_ACTIVATION_H_
#define SKALD_BASE_NUMBERS_ACTIVATION_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "skald/base/text/fixed_text.h"

namespace skald {

enum class Activation : uint8_t {
  kSilu,
  kGeluTanh,     ///< the tanh approximation of GELU, Hendrycks and Gimpel 2016 (arXiv:1606.08415)
  kGeluErf,      ///< the exact, erf form
  kReluSquared,  ///< max(x, 0)^2, So et al. 2021 (arXiv:2109.08668)
  kRelu,         ///< max(x, 0)
  // Only as a gate: for gate g and up u, both clamped to 7, g sigmoid(1.702 g) (u + 1)
  // (https://github.com/openai/gpt-oss, gpt_oss/torch/model.py).
  kClampedSwiglu,
  // Only without a gate: xIELU, Huang and Schlag 2024 (arXiv:2411.13010), whose parameters are learned.
  kXielu,
};

/// The names in Hugging Face's config.json.
constexpr std::string_view NameOf(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluTanh:
      return "gelu_pytorch_tanh";
    case Activation::kGeluErf:
      return "gelu";
    case Activation::kReluSquared:
      return "relu2";
    case Activation::kRelu:
      return "relu";
    case Activation::kClampedSwiglu:
      return "clamped_swiglu";
    case Activation::kXielu:
      return "xielu";
  }
  return "unknown";
}

/// Why other layers have no kXielu.
inline constexpr const char* kXieluElsewhere = "Only feed-forward layers without a gate have parameters of xIELU.";

/// A user's own function: an object that is called with one element and returns one. Like a layer (component.h), it has
/// a
/// name and lists the members that change a number:
///   struct Softsign {
///     static constexpr std::string_view kName = "softsign";
///     friend constexpr bool operator==(const Softsign&, const Softsign&) = default;
///     static constexpr void VisitFields(auto& self, auto&& visit) {}
///     float operator()(float x) const { return x / (1.0f + std::abs(x)); }
///   };
/// Its result must be the same on all machines that share saved state: std::exp, for one, may differ in the last bit
/// from one C library to the next.
template <class F>
concept OwnActivation = std::copyable<F> && std::equality_comparable<F> && requires(const F& function) {
  { F::kName } -> std::convertible_to<std::string_view>;
  { function(0.0f) } -> std::same_as<float>;
  F::VisitFields(function, [](std::string_view, const auto&) {});
};

template <class F>
concept AnyActivation = std::same_as<F, Activation> || OwnActivation<F>;

/// An activation of any type, for arithmetic that is compiled once. Refers to a function of a user's own, which must
/// outlive it.
class ActivationRef {
 public:
  /// One of ours.
  constexpr ActivationRef(Activation activation) : activation_(activation) {}  // NOLINT: an activation is one
  /// A user's own function, which must outlive this.
  template <OwnActivation F>
  constexpr ActivationRef(const F& function)  // NOLINT: the same
      : function_(&function), activate_(&Activate<F>), gate_(&Gate<F>) {}

  /// Whether it is a user's own function.
  constexpr bool is_own() const { return function_ != nullptr; }

  /// Which of ours it is, where it is one of them.
  constexpr Activation ours() const { return activation_; }

  /// values[i] = f(values[i]), of a function of a user's own.
  void Activate(float* values, size_t size) const { activate_(function_, values, size); }

  /// output[i] = f(gates[i]) * values[i], of a function of a user's own.
  void Gate(const float* gates, const float* values, size_t size, float* output) const {
    gate_(function_, gates, values, size, output);
  }

 private:
  template <class F>
  static void Activate(const void* function, float* values, size_t size) {
    for (size_t i = 0; i < size; ++i) values[i] = (*static_cast<const F*>(function))(values[i]);
  }
  template <class F>
  static void Gate(const void* function, const float* gates, const float* values, size_t size, float* output) {
    for (size_t i = 0; i < size; ++i) output[i] = (*static_cast<const F*>(function))(gates[i]) * values[i];
  }

  Activation activation_ = {};
  const void* function_ = nullptr;
  void (*activate_)(const void*, float*, size_t) = nullptr;
  void (*gate_)(const void*, const float*, const float*, size_t, float*) = nullptr;
};

/// Names a type of layers that applies an activation of type F. A built-in activation is a member of the layer; a
/// user's own is part of the layer's type.
template <AnyActivation F>
constexpr FixedText NameWithActivation(std::string_view layer) {
  if constexpr (OwnActivation<F>) {
    return FixedText(layer) + " with " + F::kName;
  } else {
    return layer;
  }
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_ACTIVATION_H_
