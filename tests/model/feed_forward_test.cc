// SPDX-License-Identifier: Apache-2.0
//
// Models of feed-forward layers without a gate and of norms against the same written with scalars: every activation,
// and every parameter that may be there or not.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "tests/reference/math.h"
#include "tests/reference/matmul.h"
#include "tests/reference/norm.h"
#include "tests/support/kernel_data.h"
#include "tests/support/own_types.h"
#include "tests/support/targets.h"
#include "tests/support/unpack.h"

namespace skald::testing {
namespace feed_forward_test {

using Vector = std::vector<float>;

const float* DataOrNull(const Vector& values) { return values.empty() ? nullptr : values.data(); }

Vector Product(const Matrix& matrix, const Vector& bias, const Vector& input) {
  const Vector values = Unpack(matrix);
  Vector output(matrix.rows);
  reference::MatMul(input.data(), values.data(), DataOrNull(bias), 1, matrix.rows, matrix.cols, output.data());
  return output;
}

Vector Normalized(const NormSpec& norm, const NormWeights& weights, Vector row) {
  if (const auto* rms = norm.As<RmsNorm>()) {
    reference::Norm(row.data(), weights.Of<RmsNorm>().data(), row.size(), rms->epsilon, row.data());
  } else {
    const LayerNorm::Weights& of = weights.Of<LayerNorm>();
    reference::LayerNorm(row.data(), DataOrNull(of.weight), DataOrNull(of.bias), row.size(),
                         norm.As<LayerNorm>()->epsilon, row.data());
  }
  return row;
}

template <class Function>
Vector FeedForwardRow(const typename FeedForwardWith<Function>::Weights& weights, const Vector& input,
                      float (*activation)(float)) {
  Vector between = Product(weights.up, weights.up_bias, input);
  for (float& x : between) x = activation(x);
  return Product(weights.down, weights.down_bias, between);
}

template <class Function>
Vector GatedFeedForwardRow(const typename GatedFeedForwardWith<Function>::Weights& weights, const Vector& input,
                           float (*activation)(float)) {
  const Vector both = Product(weights.gate_up, weights.gate_up_bias, input);
  const size_t width = both.size() / 2;
  Vector gated(width);
  for (size_t i = 0; i < width; ++i) gated[i] = activation(both[i]) * both[width + i];
  return Product(weights.down, weights.down_bias, gated);
}

// The logits after one token of a model all of whose blocks are layers of type L.
template <Layer L, class Reference>
Vector ReferenceLogits(const ModelWeights& weights, int32_t token, Reference layer) {
  Vector hidden = UnpackRows(weights.embedding, static_cast<size_t>(token), static_cast<size_t>(token) + 1);
  for (size_t b = 0; b < weights.blocks.size(); ++b) {
    const BlockWeights& block = weights.blocks[b];
    const Vector output = layer(block.Of<L>(), Normalized(*weights.spec.blocks[b].norm, block.norm, hidden));
    for (size_t i = 0; i < hidden.size(); ++i) hidden[i] += output[i];
  }
  return Product(weights.embedding, {}, Normalized(weights.spec.final_norm, weights.final_norm, hidden));
}

// Compares the logits of a model of two blocks with the reference.
template <Layer L, class Reference>
void CheckModel(const L& layer, const NormSpec& norm, Reference reference) {
  ModelSpec spec = {.model_dim = 36, .vocab_size = 50, .tied_embeddings = true, .final_norm = norm};
  spec.blocks.push_back({.number = 0, .norm = norm, .layers = {layer}});
  spec.blocks.push_back({.number = 1, .norm = RmsNorm(), .layers = {layer}});
  REQUIRE(WhyImpossible(spec) == nullptr);
  const AnyModel model("feed-forward", *RandomWeights(spec, 5, DType::kF32), LayerTypes<L>::Functions());
  const std::vector<int32_t> tokens = {7, 49, 0};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(spec));
  const std::vector<Want> wants(tokens.size(), Want::kLogits);
  const auto outputs = model.Forward(Batch().Add(cache, tokens, wants), workspace);
  REQUIRE(outputs);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Vector expected = ReferenceLogits<L>(model.weights(), tokens[i], reference);
    CHECK(Difference(Vector((*outputs)[i].begin(), (*outputs)[i].end()), expected, 2e-4) == "");
  }
}

float (*ScalarOf(Activation activation))(float) {
  switch (activation) {
    case Activation::kSilu:
      return reference::Silu;
    case Activation::kGeluTanh:
      return reference::GeluTanh;
    case Activation::kGeluErf:
      return reference::GeluErf;
    case Activation::kReluSquared:
      return reference::ReluSquared;
    case Activation::kRelu:
      return reference::Relu;
    case Activation::kClampedSwiglu:
      break;  // a function of two values
    case Activation::kXielu:
      break;  // with parameters
  }
  return nullptr;
}

constexpr Activation kActivations[] = {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                                       Activation::kReluSquared, Activation::kRelu};

TEST_CASE("feed-forward layers equal the scalar reference for every activation and width, gated or not") {
  for (const Activation activation : kActivations) {
    CAPTURE(NameOf(activation));
    for (const int width : {32, 41}) {
      for (const bool bias : {false, true}) {
        CheckModel(FeedForward{width, activation, bias}, RmsNorm(), [&](const auto& weights, const Vector& input) {
          return FeedForwardRow<Activation>(weights, input, ScalarOf(activation));
        });
        CheckModel(GatedFeedForward{width, activation, bias}, RmsNorm(), [&](const auto& weights, const Vector& input) {
          return GatedFeedForwardRow<Activation>(weights, input, ScalarOf(activation));
        });
      }
    }
  }
}

TEST_CASE("so do those with a function of a user's own") {
  const auto softsign = [](float x) { return Softsign()(x); };
  for (const bool bias : {false, true}) {
    CheckModel(
        FeedForwardWith<Softsign>{.width = 41, .bias = bias}, RmsNorm(),
        [&](const auto& weights, const Vector& input) { return FeedForwardRow<Softsign>(weights, input, softsign); });
    CheckModel(GatedFeedForwardWith<Softsign>{.width = 41, .bias = bias}, RmsNorm(),
               [&](const auto& weights, const Vector& input) {
                 return GatedFeedForwardRow<Softsign>(weights, input, softsign);
               });
  }
}

TEST_CASE("norms of every type equal the scalar reference within a model") {
  const NormSpec norms[] = {RmsNorm{.epsilon = 1e-3f}, LayerNorm{}, LayerNorm{.epsilon = 1e-3f, .bias = false},
                            LayerNorm{.weight = false, .bias = false}};
  for (const NormSpec& norm : norms) {
    CheckModel(FeedForward{.width = 32}, norm, [&](const auto& weights, const Vector& input) {
      return FeedForwardRow<Activation>(weights, input, reference::Silu);
    });
  }
}

}  // namespace feed_forward_test
}  // namespace skald::testing
