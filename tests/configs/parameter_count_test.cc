// SPDX-License-Identifier: Apache-2.0
//
// A wrong size in a published Config shows as a wrong number of parameters. Those compared with are what the
// checkpoints hold: the totals that Hugging Face shows for each, from the headers of their safetensors files.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config_json.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "tests/configs/published_json.h"
#include "tests/support/config_list.h"

namespace skald {
namespace parameter_count_test {

int64_t ParametersOfSpec(const ModelSpec& spec) {
  ModelWeights weights(spec);
  int64_t count = 0;
  ForEachArray(
      ParametersOf(weights),
      [&](const Matrix&, size_t rows, size_t cols) { count += static_cast<int64_t>(rows * cols); },
      [&](const std::vector<float>&, size_t size) { count += static_cast<int64_t>(size); });
  return count;
}

template <ModelConfig C>
int64_t ParameterCount() {
  return ParametersOfSpec(SpecOf<C>());
}

// Parameters of multimodal Gemma 3 outside the language model: the vision tower (SigLIP, 27 layers of width 1152, 896 x
// 896 pixels in patches of 14 x 14), a norm of its width, and a matrix from it to the language model.
template <ModelConfig C>
int64_t WithVision() {
  constexpr int64_t kDim = 1152, kHidden = 4304, kPatches = 64 * 64, kPatchValues = 14 * 14 * 3;
  constexpr int64_t kAttention = 4 * (kDim * kDim + kDim), kFeedForward = 2 * kDim * kHidden + kHidden + kDim;
  constexpr int64_t kNorm = 2 * kDim;
  constexpr int64_t kLayer = kAttention + kFeedForward + 2 * kNorm;
  constexpr int64_t kTower = kPatchValues * kDim + kDim + kPatches * kDim + 27 * kLayer + kNorm;
  return ParameterCount<C>() + kTower + kDim + kDim * C::kModelDim;
}

// Parameters of GLM-4.7-Flash outside the model: a further layer, which predicts one more token, with an embedding, a
// head, three norms and a matrix from two rows to one.
constexpr int64_t kGlmPredicting = [] {
  constexpr int64_t kDim = 2048, kHeads = 20, kQueryRank = 768, kLatent = 512, kRope = 64, kNope = 192, kValue = 256;
  constexpr int64_t kQueries = kDim * kQueryRank + kQueryRank + kQueryRank * kHeads * (kRope + kNope);
  constexpr int64_t kKeys = kDim * (kLatent + kRope) + kLatent + kLatent * kHeads * (kNope + kValue);
  constexpr int64_t kExperts = (64 + 1) * 3 * kDim * 1536 + 64 * (kDim + 1);
  constexpr int64_t kLayer = kQueries + kKeys + kHeads * kValue * kDim + kExperts + 2 * kDim;
  return kLayer + 2 * 154880 * kDim + 2 * kDim * kDim + 3 * kDim;
}();

TEST_CASE("published Configs have as many parameters as their checkpoints") {
  CHECK(ParameterCount<TinyLlama_1_1B>() == 1'100'048'384);
  CHECK(ParameterCount<LFM2_350M>() == 354'483'968);
  CHECK(ParameterCount<LFM2_700M>() == 742'489'344);
  CHECK(ParameterCount<LFM2_1_2B>() == 1'170'340'608);
  CHECK(ParameterCount<DeepSeekV3_671B>() == 671'026'419'200);
  CHECK(ParameterCount<Glm4_7_Flash>() == 31'221'488'576 - kGlmPredicting);
  CHECK(ParameterCount<GptOss_20B>() == 20'914'757'184);
  CHECK(ParameterCount<GptOss_120B>() == 116'829'156'672);
  CHECK(ParameterCount<Llama2_7B>() == 6'738'415'616);
  CHECK(ParameterCount<Llama3_1_8B>() == 8'030'261'248);
  CHECK(ParameterCount<Llama3_2_1B>() == 1'235'814'400);
  CHECK(ParameterCount<Llama3_2_3B>() == 3'212'749'824);
  CHECK(ParameterCount<Mistral_7B_V0_1>() == 7'241'732'096);
  CHECK(ParameterCount<Mistral_7B_V0_3>() == 7'248'023'552);
  CHECK(ParameterCount<Qwen2_5_0_5B>() == 494'032'768);
  CHECK(ParameterCount<Qwen2_5_1_5B>() == 1'543'714'304);
  CHECK(ParameterCount<Qwen3_0_6B>() == 596'049'920);
  CHECK(ParameterCount<Qwen3_4B>() == 4'022'468'096);
  CHECK(ParameterCount<Qwen3_30B_A3B>() == 30'532'122'624);
  CHECK(ParameterCount<Mixtral_8x7B>() == 46'702'792'704);
  CHECK(ParameterCount<Olmo2_1B>() == 1'484'916'736);
  CHECK(ParameterCount<Olmo2_7B>() == 7'298'617'344);
  CHECK(ParameterCount<Olmo2_13B>() == 13'716'198'400);
  CHECK(ParameterCount<Olmo2_32B>() == 32'234'279'936);
  CHECK(ParameterCount<SmolLM3_3B>() == 3'075'098'624);
  CHECK(ParameterCount<Phi3_Mini_4K>() == 3'821'079'552);
  CHECK(ParameterCount<Phi4_Mini>() == 3'836'021'760);
  CHECK(ParameterCount<Gemma_2B>() == 2'506'172'416);
  CHECK(ParameterCount<Gemma_7B>() == 8'537'680'896);
  CHECK(ParameterCount<Gemma2_2B>() == 2'614'341'888);
  CHECK(ParameterCount<Gemma2_9B>() == 9'241'705'984);
  CHECK(ParameterCount<Gemma2_27B>() == 27'227'128'320);
  CHECK(ParameterCount<Gemma3_270M>() == 268'098'176);
  CHECK(ParameterCount<Gemma3_1B>() == 999'885'952);
  CHECK(WithVision<Gemma3_4B>() == 4'300'079'472);
  CHECK(WithVision<Gemma3_12B>() == 12'187'325'040);
  CHECK(WithVision<Gemma3_27B>() == 27'432'406'640);
}

// Of multimodal models the language part; llama.cpp shows these numbers rounded.
TEST_CASE("published Configs of hybrids have as many parameters as their checkpoints") {
  CHECK(ParameterCount<LFM2_8B_A1B>() == 8'339'930'560);
  CHECK(ParameterCount<FalconH1_0_5B>() == 521'411'104);
  CHECK(ParameterCount<Granite4_H_350M>() == 340'332'224);
  CHECK(ParameterCount<Granite4_1B>() == 1'631'750'144);
  CHECK(ParameterCount<Rwkv7_0_1B>() == 191'034'624);  // as the paper says of each
  CHECK(ParameterCount<Rwkv7_0_4B>() == 450'767'872);
  CHECK(ParameterCount<Rwkv7_1_5B>() == 1'527'404'544);
  CHECK(ParameterCount<Rwkv7_2_9B>() == 2'947'735'040);
  CHECK(ParameterCount<NemotronNano_9B_V2>() == 8'888'227'328);
  CHECK(ParameterCount<Nemotron3Nano_30B_A3B>() == 31'577'940'288);
  CHECK(ParameterCount<Qwen3Next_80B_A3B>() == 79'674'391'296);
  CHECK(ParameterCount<Qwen3_5_0_8B>() == 752'393'024);
  CHECK(ParameterCount<Qwen3_5_2B>() == 1'881'825'088);
  CHECK(ParameterCount<Qwen3_5_4B>() == 4'205'751'296);
  CHECK(ParameterCount<Qwen3_5_9B>() == 8'953'803'264);
  CHECK(ParameterCount<Qwen3_5_27B>() == 26'895'998'464);
  CHECK(ParameterCount<Qwen3_5_35B_A3B>() == 34'660'610'688);
}

TEST_CASE("published Configs with recurrent layers have as many parameters as their checkpoints") {
  CHECK(ParameterCount<Mamba_130M>() == 129'135'360);
  CHECK(ParameterCount<Mamba_370M>() == 371'516'416);
  CHECK(ParameterCount<Mamba_790M>() == 793'204'224);
  CHECK(ParameterCount<Mamba_1_4B>() == 1'372'178'432);
  CHECK(ParameterCount<Mamba_2_8B>() == 2'768'345'600);
}

// Rounded to a multiple of `unit`, in units.
constexpr int64_t Rounded(int64_t count, int64_t unit) { return (count + unit / 2) / unit; }

TEST_CASE("where only a rounded number of parameters is published, Configs round to it") {
  constexpr int64_t kTenMillion = 10'000'000, kHundredMillion = 100'000'000, kBillion = 1'000'000'000;
  // "2B" leaves out the embedding, says the abstract of arXiv:2404.07839.
  CHECK(Rounded(ParameterCount<RecurrentGemma_2B>() - 256000 * 2560, kHundredMillion) == 20);
  CHECK(Rounded(ParameterCount<RecurrentGemma_9B>(), kBillion) == 9);
  CHECK(Rounded(ParameterCount<Mamba2_130M>(), kTenMillion) == 13);
  CHECK(Rounded(ParameterCount<Mamba2_370M>(), kTenMillion) == 37);
  CHECK(Rounded(ParameterCount<Mamba2_780M>(), kTenMillion) == 78);
  CHECK(Rounded(ParameterCount<Mamba2_1_3B>(), kHundredMillion) == 13);
  CHECK(Rounded(ParameterCount<Mamba2_2_7B>(), kHundredMillion) == 27);
}

TEST_CASE("published models without a Config have about as many parameters as their names and cards say") {
  const std::map<std::string, double> billions = {{"afm-4.5b", 4.62},
                                                  {"apertus-70b", 70.6},
                                                  {"apertus-8b", 8.05},
                                                  {"bitnet-2b-4t", 2.41},
                                                  {"command-a", 111.1},
                                                  {"command-r", 35.0},
                                                  {"command-r-08-2024", 32.3},
                                                  {"command-r-plus", 103.8},
                                                  {"command-r-plus-08-2024", 103.8},
                                                  {"command-r7b", 8.03},
                                                  {"devstral-small-2", 23.6},
                                                  {"dots-llm1", 142.8},
                                                  {"ernie-4.5-0.3b", 0.36},
                                                  {"ernie-4.5-21b-a3b", 21.8},
                                                  {"ernie-4.5-300b-a47b", 300},
                                                  {"exaone-4.0-1.2b", 1.28},
                                                  {"exaone-4.0-32b", 32.0},
                                                  {"falcon-40b", 41.3},
                                                  {"falcon-7b", 6.92},
                                                  {"glm-4-32b-0414", 32.6},
                                                  {"glm-4-9b-0414", 9.4},
                                                  {"glm-4.5", 352.8},
                                                  {"glm-4.5-air", 106.9},
                                                  {"gpt-neox-20b", 20.55},
                                                  {"gpt2", 0.124},
                                                  {"gpt2-xl", 1.558},
                                                  {"hunyuan-a13b", 80.4},
                                                  {"hunyuan-mt-7b", 7.5},
                                                  {"internlm2.5-1.8b", 1.89},
                                                  {"internlm2.5-20b", 19.86},
                                                  {"internlm2.5-7b", 7.74},
                                                  {"jamba-1.5-large", 398.6},
                                                  {"jamba-1.5-mini", 51.6},
                                                  {"ling-lite", 16.8},
                                                  {"ling-lite-1.5", 16.8},
                                                  {"ling-mini-2.0", 16.26},
                                                  {"ling-plus", 290},
                                                  {"llama-4-maverick", 400.7},
                                                  {"llama-4-scout", 107.8},
                                                  {"minimax-m2", 228.7},
                                                  {"minimax-text-01-456b", 456},
                                                  {"ministral-3-14b", 13.5},
                                                  {"ministral-3-3b", 3.43},
                                                  {"ministral-3-8b", 8.49},
                                                  {"mistral-small-3", 23.57},
                                                  {"mistral-small-4", 119},
                                                  {"olmo3-32b", 32.23},
                                                  {"olmo3-7b", 7.3},
                                                  {"olmoe-1b-7b", 6.92},
                                                  {"phi-1.5", 1.418},
                                                  {"phi-2", 2.78},
                                                  {"phi-3.5-moe", 41.87},
                                                  {"plamo2-8b", 9.12},
                                                  {"pythia-1.4b", 1.415},
                                                  {"qwen1.5-moe-a2.7b", 14.3},
                                                  {"qwen2-57b-a14b", 57.4},
                                                  {"qwen3-vl-235b-a22b", 235.1},
                                                  {"qwen3-vl-2b", 1.72},
                                                  {"qwen3-vl-30b-a3b", 30.53},
                                                  {"qwen3-vl-8b", 8.19},
                                                  {"rwkv6-1.6b", 1.6},
                                                  {"seed-oss-36b", 36.2},
                                                  {"smallthinker-21b", 21.5},
                                                  {"smallthinker-4b", 4.03},
                                                  {"stablelm-2-1.6b", 1.644},
                                                  {"stablelm-2-12b", 12.14},
                                                  {"stablelm-3b-4e1t", 2.795},
                                                  {"starcoder2-15b", 15.96},
                                                  {"starcoder2-3b", 3.03},
                                                  {"starcoder2-7b", 7.17}};
  size_t found = 0;
  for (const testing::PublishedJson& published : testing::ReadPublishedJson()) {
    if (published.has_config) continue;
    CAPTURE(published.config);
    const auto model = ParseConfigJson(published.text);
    REQUIRE_MESSAGE(model, model.error().message);
    REQUIRE(billions.contains(published.config));
    CHECK(static_cast<double>(ParametersOfSpec(model->spec)) / 1e9 ==
          doctest::Approx(billions.at(published.config)).epsilon(0.005));
    ++found;
  }
  CHECK(found == billions.size());
}

TEST_CASE("stories15M fills the file that Andrej Karpathy publishes") {
  // 7 numbers of header, then f32: the parameters, and two unused tables of RoPE factors [256 positions, 24].
  CHECK(28 + 4 * (ParameterCount<Stories15M>() + 2 * 256 * 24) == 60'816'028);
}

}  // namespace parameter_count_test
}  // namespace skald
