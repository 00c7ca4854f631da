// SPDX-License-Identifier: Apache-2.0
//
// A wrong size in a published Config shows as a wrong number of parameters. Those compared with are what the
// checkpoints hold: the totals that Hugging Face shows for each, from the headers of their safetensors files.

#include <cstdint>

#include "doctest/doctest.h"
#include "skald/configs/published.h"

namespace skald {
namespace {

template <ModelConfig C>
constexpr int64_t ParameterCount() {
  constexpr int64_t kDim = C::kModelDim, kHeads = C::kHeads, kKVHeads = C::kKVHeads, kHeadDim = C::kHeadDim;
  constexpr int64_t kQKV = (kHeads + 2 * kKVHeads) * kHeadDim;
  int64_t layer = kDim * kQKV + kHeads * kHeadDim * kDim + 3 * kDim * C::kFeedForwardDim + 2 * kDim;
  if (HasQKVBias<C>()) layer += kQKV;
  if (HasQKNorm<C>()) layer += 2 * kHeadDim;
  if (HasPostNorms<C>()) layer += 2 * kDim;
  const int64_t embedding = kDim * C::kVocabSize;
  const int64_t layers = static_cast<int64_t>(NumLayersOf<C>());
  return embedding + layers * layer + kDim + (C::kTiedEmbeddings ? 0 : embedding);
}

// What multimodal Gemma 3 has besides: the vision tower (SigLIP, 27 layers of width 1152, 896 x 896 pixels in
// patches of 14 x 14), a norm of its width, and a matrix from it to the language model.
template <ModelConfig C>
constexpr int64_t WithVision() {
  constexpr int64_t kDim = 1152, kHidden = 4304, kPatches = 64 * 64, kPatchValues = 14 * 14 * 3;
  constexpr int64_t kAttention = 4 * (kDim * kDim + kDim), kFeedForward = 2 * kDim * kHidden + kHidden + kDim;
  constexpr int64_t kNorm = 2 * kDim;
  constexpr int64_t kLayer = kAttention + kFeedForward + 2 * kNorm;
  constexpr int64_t kTower = kPatchValues * kDim + kDim + kPatches * kDim + 27 * kLayer + kNorm;
  return ParameterCount<C>() + kTower + kDim + kDim * C::kModelDim;
}

TEST_CASE("published Configs have as many parameters as their checkpoints") {
  CHECK(ParameterCount<TinyLlama_1_1B>() == 1'100'048'384);
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

TEST_CASE("stories15M fills the file that Andrej Karpathy publishes") {
  // 7 numbers of header, then f32: the parameters, and two tables of RoPE factors [256 positions, 24] that
  // nobody reads.
  CHECK(28 + 4 * (ParameterCount<Stories15M>() + 2 * 256 * 24) == 60'816'028);
}

}  // namespace
}  // namespace skald
