// SPDX-License-Identifier: Apache-2.0
//
// The demo model against what the script that trained it computed from the same weights, in float64
// (examples/demo_model/train.py --no-training --golden FILE).

#include <cmath>
#include <vector>

#include "doctest/doctest.h"
#include "examples/demo_model/demo_config.h"
#include "skald/configs/create.h"
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

TEST_CASE("the demo model in bf16 agrees as far as its precision goes") {
  const auto model = LoadModel<DemoModel>(RepositoryPath("examples/demo_model"));
  REQUIRE(model);
  const ReferenceTensors reference(RepositoryPath("tests/golden/demo_model.golden.safetensors"));
  const std::vector<int32_t> tokens = reference.AllTokens("tokens");
  const std::vector<float> expected = reference.AllFloats("logits");
  KVCache cache = *CreateKVCache<DemoModel>();
  Workspace workspace = *CreateWorkspace();
  const auto outputs =
      model->Forward(Batch().Add(cache, tokens, std::vector<Want>(tokens.size(), Want::kLogits)), workspace);
  REQUIRE(outputs);
  double square = 0.0, error = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double computed = (*outputs)[i / DemoModel::kVocabSize][i % DemoModel::kVocabSize];
    square += double{expected[i]} * expected[i];
    error += (computed - expected[i]) * (computed - expected[i]);
  }
  // Activations, keys, values and probabilities are rounded about eight times a layer, each to within 2^-9.
  CHECK(std::sqrt(error / square) < std::sqrt(8.0 * static_cast<double>(DemoModel::kLayers.size())) / 512);
}

}  // namespace demo_model_test
}  // namespace skald::testing
