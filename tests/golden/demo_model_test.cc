// SPDX-License-Identifier: Apache-2.0
//
// The demo model against what the script that trained it computed from the same weights, in float64
// (examples/demo_model/train.py --no-training --golden FILE).

#include <cmath>
#include <vector>

#include "doctest/doctest.h"
#include "examples/demo_model/demo_config.h"
#include "skald/families/config/create.h"
#include "skald/model/model.h"
#include "tests/support/compare_logits.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace demo_model_test {

TEST_CASE("the demo model in f32 agrees with its training script") {
  const auto model = LoadModel<DemoModel>(RepositoryPath("examples/demo_model"), {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(RepositoryPath("tests/golden/demo_model.golden.safetensors"));
  const std::vector<int32_t> tokens = reference.AllTokens("tokens"), greedy = reference.AllTokens("greedy");
  CheckRows(*model, tokens, Want::kLogits, reference.AllFloats("logits"));
  CHECK(Greedy(*model, {tokens.begin(), tokens.begin() + 16}, greedy.size()) == greedy);
}

// The demo model's output in bf16 for the reference's tokens.
struct Quality {
  double error;       // of all logits, relative to the reference's
  double perplexity;  // of the tokens
};

Quality QualityWith(DType kv_type) {
  const auto model = LoadModel<DemoModel>(RepositoryPath("examples/demo_model"));
  REQUIRE(model);
  const ReferenceTensors reference(RepositoryPath("tests/golden/demo_model.golden.safetensors"));
  const std::vector<int32_t> tokens = reference.AllTokens("tokens");
  const std::vector<float> expected = reference.AllFloats("logits");
  KVCache cache = *CreateKVCache<DemoModel>({.kv_type = kv_type});
  Workspace workspace = *CreateWorkspace();
  const auto outputs =
      model->Forward(Batch().Add(cache, tokens, std::vector<Want>(tokens.size(), Want::kLogits)), workspace);
  REQUIRE(outputs);
  double square = 0.0, error = 0.0, surprise = 0.0;
  for (size_t row = 0; row < tokens.size(); ++row) {
    double sum = 0.0;
    for (size_t i = 0; i < DemoModel::kVocabSize; ++i) {
      const double computed = (*outputs)[row][i], wanted = expected[row * DemoModel::kVocabSize + i];
      square += wanted * wanted;
      error += (computed - wanted) * (computed - wanted);
      sum += std::exp(computed);
    }
    if (row + 1 < tokens.size()) surprise += std::log(sum) - double{(*outputs)[row][tokens[row + 1]]};
  }
  return {std::sqrt(error / square), std::exp(surprise / static_cast<double>(tokens.size() - 1))};
}

constexpr double kLayers = DemoModel::kLayers.size();

TEST_CASE("the demo model in bf16 agrees as far as its precision goes") {
  // Activations, keys, values and probabilities are rounded about eight times a layer, each to within 2^-9.
  CHECK(QualityWith(DType::kBF16).error < std::sqrt(8.0 * kLayers) / 512);
}

TEST_CASE("keys and values in int8 cost the demo model little") {
  const Quality rounded = QualityWith(DType::kBF16), codes = QualityWith(DType::kI8);
  MESSAGE("logits off by ", 100 * rounded.error, " % in bf16, ", 100 * codes.error, " % in int8; perplexity ",
          rounded.perplexity, " and ", codes.perplexity);
  // Besides, keys and values are rounded to within 1/254 of the largest number of a head, three times the usual one.
  CHECK(codes.error < std::sqrt(kLayers * (6.0 / (512 * 512) + 2 * 9.0 / (254 * 254))));
  CHECK(std::abs(codes.perplexity / rounded.perplexity - 1) < 0.01);
}

}  // namespace demo_model_test
}  // namespace skald::testing
