// SPDX-License-Identifier: Apache-2.0
//
// Activation: the nonlinear functions that layers apply elementwise.

#ifndef SKALD_BASE_NUMBERS_ACTIVATION_H_
#define SKALD_BASE_NUMBERS_ACTIVATION_H_

#include <cstdint>
#include <string_view>

namespace skald {

// The gate of a gated feed-forward layer (Shazeer 2020, arXiv:2002.05202).
enum class Activation : uint8_t {
  kSilu,
  kGeluTanh,  // the tanh approximation of GELU, Hendrycks and Gimpel 2016 (arXiv:1606.08415)
  kGeluErf,   // the exact, erf form
};

// The names that Hugging Face's config.json uses.
constexpr std::string_view NameOf(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluTanh:
      return "gelu_pytorch_tanh";
    case Activation::kGeluErf:
      return "gelu";
  }
  return "unknown";
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_ACTIVATION_H_
