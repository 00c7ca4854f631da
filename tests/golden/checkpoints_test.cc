// SPDX-License-Identifier: Apache-2.0
//
// Published implementations' logits for small checkpoints of every family, against ours in f32 mode. A wrong formula
// is off by 4e-3 or more.

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/model.h"
#include "tests/support/compare_logits.h"
#include "tests/support/golden_configs.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace {

template <class C>
void CheckCheckpoint(const std::string& weights, const std::string& recorded) {
  const auto weights_path = TestDataPath(weights), recorded_path = TestDataPath(recorded);
  if (!weights_path || !recorded_path) return;
  CAPTURE(weights);
  const auto model = LoadModel<C>(*weights_path, {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(*recorded_path);
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", row);
    CheckRows(*model, prompt, Want::kHidden, reference.Floats("hidden_last", row));
    CheckRows(*model, prompt, Want::kLogits, reference.Floats("logits", row));
    const std::vector<int32_t> greedy = reference.Tokens("greedy", row);
    CHECK(Greedy(*model, prompt, greedy.size()) == greedy);
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
  CheckRows(*model, {story.begin(), story.end() - 1}, Want::kLogits, reference.AllFloats("logits"));
  CHECK(Greedy(*model, {story[0]}, story.size() - 1) == std::vector<int32_t>(story.begin() + 1, story.end()));
}

}  // namespace
}  // namespace skald::testing
