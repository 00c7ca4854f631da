// SPDX-License-Identifier: Apache-2.0
//
// Published implementations' logits for small checkpoints of every family, against ours in f32 mode.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/model/model.h"
#include "tests/support/golden_configs.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace {

constexpr RuntimeConfig kExact = {.kv_type = DType::kF32, .threads = 1};

// Both sides round every operation, and errors of the operations along a path add up: about one per layer and term of
// its longest sum, as a random walk, on values as large as the largest logit. Wrong formulas are off by 4e-3 or more.
template <class C>
float Tolerance(const std::vector<float>& logits) {
  float largest = 0.0f;
  for (const float logit : logits) largest = std::max(largest, std::abs(logit));
  const float steps = std::sqrt(static_cast<float>(NumLayersOf<C>() * C::kModelDim * 8));
  return largest * steps * std::numeric_limits<float>::epsilon();
}

int32_t ArgMax(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

float LargestDifference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  float largest = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // keeps NaN
  }
  return largest;
}

template <class C>
void CheckCheckpoint(const std::string& weights, const std::string& recorded) {
  const auto weights_path = TestDataPath(weights), recorded_path = TestDataPath(recorded);
  if (!weights_path || !recorded_path) return;
  CAPTURE(weights);
  const auto model = LoadModel<C>(*weights_path, {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(*recorded_path);
  Workspace workspace = *CreateWorkspace(kExact);

  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", row);
    KVCache cache = *CreateKVCache<C>(kExact);
    const std::vector<Want> all(prompt.size(), Want::kLogits), hidden(prompt.size(), Want::kHidden);

    const auto states = model->Forward(Batch().Add(cache, prompt, hidden), workspace);
    REQUIRE(states);
    std::vector<float> computed;
    for (size_t i = 0; i < states->size(); ++i) computed.insert(computed.end(), (*states)[i].begin(), (*states)[i].end());
    const std::vector<float> expected_states = reference.Floats("hidden_last", row);
    CHECK(LargestDifference(computed, expected_states) <= Tolerance<C>(expected_states));

    cache.Clear();
    const auto outputs = model->Forward(Batch().Add(cache, prompt, all), workspace);
    REQUIRE(outputs);
    computed.clear();
    for (size_t i = 0; i < outputs->size(); ++i) computed.insert(computed.end(), (*outputs)[i].begin(), (*outputs)[i].end());
    const std::vector<float> expected = reference.Floats("logits", row);
    CHECK(LargestDifference(computed, expected) <= Tolerance<C>(expected));

    std::vector<int32_t> greedy = {ArgMax((*outputs)[outputs->size() - 1])};
    const std::vector<int32_t> expected_greedy = reference.Tokens("greedy", row);
    while (greedy.size() < expected_greedy.size()) {
      const auto logits = model->Forward(cache, {&greedy.back(), 1}, workspace);
      REQUIRE(logits);
      greedy.push_back(ArgMax(*logits));
    }
    CHECK(greedy == expected_greedy);
  }
}

template <class C>
void CheckFolder(const std::string& folder) {
  CheckCheckpoint<C>("golden/a/" + folder + "/model.safetensors", "golden/a/" + folder + "/golden.safetensors");
}

TEST_CASE("Llama with RoPE scaling agrees with Hugging Face") { CheckFolder<GoldenLlama>("llama"); }
TEST_CASE("Mistral with its window agrees with Hugging Face") { CheckFolder<GoldenMistral>("mistral"); }
TEST_CASE("Qwen 2 with biases agrees with Hugging Face") { CheckFolder<GoldenQwen2>("qwen2"); }
TEST_CASE("Qwen 3 with head norms agrees with Hugging Face") { CheckFolder<GoldenQwen3>("qwen3"); }
TEST_CASE("Gemma agrees with Hugging Face") { CheckFolder<GoldenGemma>("gemma"); }
TEST_CASE("Gemma 2 with softcaps agrees with Hugging Face") { CheckFolder<GoldenGemma2>("gemma2"); }
TEST_CASE("Gemma 3 with two RoPE bases agrees with Hugging Face") { CheckFolder<GoldenGemma3>("gemma3"); }

TEST_CASE("a bf16 checkpoint computed in f32 agrees with Hugging Face") {
  CheckCheckpoint<GoldenLlama>("golden/a/llama/model.bf16.safetensors", "golden/a/llama/golden.bf16.safetensors");
}

TEST_CASE("stories260K tells its published story") {
  const auto folder = TestDataPath("models/stories260K");
  if (!folder) return;
  const auto model = LoadModel<Stories260K>(*folder, {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(*folder / "golden.safetensors");
  const std::vector<int32_t> story = reference.AllTokens("tokens");
  const std::vector<float> expected = reference.AllFloats("logits");
  const std::vector<int32_t> prompt(story.begin(), story.end() - 1);

  Workspace workspace = *CreateWorkspace(kExact);
  KVCache cache = *CreateKVCache<Stories260K>(kExact);
  const auto outputs = model->Forward(Batch().Add(cache, prompt, std::vector<Want>(prompt.size(), Want::kLogits)), workspace);
  REQUIRE(outputs);
  std::vector<float> computed;
  for (size_t i = 0; i < outputs->size(); ++i) computed.insert(computed.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  CHECK(LargestDifference(computed, expected) <= Tolerance<Stories260K>(expected));

  cache.Clear();
  std::vector<int32_t> greedy = {story[0]};
  while (greedy.size() < story.size()) {
    const auto logits = model->Forward(cache, {&greedy.back(), 1}, workspace);
    REQUIRE(logits);
    greedy.push_back(ArgMax(*logits));
  }
  CHECK(greedy == story);
}

}  // namespace
}  // namespace skald::testing
