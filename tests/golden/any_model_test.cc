// SPDX-License-Identifier: Apache-2.0
//
// AnyModel, which learns what a model is from its config.json, against the Config of the same sizes: the same bits.

#include <cstring>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config/create.h"
#include "skald/model/load_any.h"
#include "skald/model/model.h"
#include "tests/support/golden_configs.h"
#include "tests/support/golden_deepseek_v3.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace any_model_test {

std::vector<float> Logits(const AnyModel& model, const std::vector<int32_t>& tokens) {
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto logits = model.Forward(cache, tokens, workspace);
  REQUIRE(logits);
  return {logits->begin(), logits->end()};
}

template <class C>
void CheckFamily(const std::string& family) {
  const auto folder = GoldenPath(family);
  CAPTURE(family);
  const std::vector<int32_t> prompt = ReferenceTensors(folder / "golden.safetensors").Tokens("input_ids", 0);
  const auto any = LoadAnyModel(folder);
  REQUIRE_MESSAGE(any.has_value(), any.error().message);
  CHECK(any->spec() == SpecOf<C>());
  CHECK(Fingerprint(any->spec()) == Fingerprint(SpecOf<C>()));
  const std::vector<float> expected = Logits(*LoadModel<C>(folder), prompt), found = Logits(*any, prompt);
  REQUIRE(found.size() == expected.size());
  CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0);
}

TEST_CASE("a model known by its config.json alone computes the bits that its Config does") {
  CheckFamily<GoldenLlama>("llama");
  CheckFamily<GoldenMistral>("mistral");
  CheckFamily<GoldenQwen2>("qwen2");
  CheckFamily<GoldenQwen3>("qwen3");
  CheckFamily<GoldenQwen3Moe>("qwen3_moe");
  CheckFamily<GoldenMixtral>("mixtral");
  CheckFamily<GoldenOlmo2>("olmo2");
  CheckFamily<GoldenSmolLM3>("smollm3");
  CheckFamily<GoldenPhi3>("phi3");
  CheckFamily<GoldenGranite4>("granitemoehybrid_dense");
  CheckFamily<GoldenGranite4Moe>("granitemoehybrid");
  CheckFamily<GoldenDeepSeekV3>("deepseek_v3");
  CheckFamily<GoldenGemma>("gemma");
  CheckFamily<GoldenGemma2>("gemma2");
  CheckFamily<GoldenGemma3>("gemma3");
  CheckFamily<GoldenRecurrentGemma>("recurrent_gemma");
  CheckFamily<GoldenMamba>("mamba");
  CheckFamily<GoldenMamba2>("mamba2");
}

TEST_CASE("a vocabulary of another size than a Config's is no obstacle") {
  const auto folder = GoldenPath("llama");
  ModelSpec spec = SpecOf<GoldenLlama>();
  spec.vocab_size += 1;
  const AnyModel model("odd", *RandomWeights(spec, 3), StandardLayers::Functions());
  CHECK(Logits(model, {1, 2, spec.vocab_size - 1}).size() == static_cast<size_t>(spec.vocab_size));
}

}  // namespace any_model_test
}  // namespace skald::testing
