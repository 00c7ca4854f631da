// SPDX-License-Identifier: Apache-2.0
//
// A model of your own is a struct of facts in your own file. Here the demo model's, spelled out without a
// family to inherit from; then the same with one wrong number, to show that no checkpoint is ever misread.
//
//   build/release/examples/11_own_config [MODEL_FOLDER]

#include <iostream>

#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

struct MyModel {
  static constexpr std::string_view kName = "my-model";  // for error messages
  static constexpr int kModelDim = 256, kFeedForwardDim = 768, kVocabSize = 2048;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 64;  // two query heads share each key/value head
  static constexpr auto kLayers =
      skald::RepeatLayers<4>({skald::LayerKind::kSlidingAttention, skald::LayerKind::kFullAttention});
  static constexpr int kWindow = 64;  // what the sliding layers see
  static constexpr skald::RopeSpec kRope = {.base = 100000.0}, kSlidingRope = {.base = 10000.0};
  static constexpr int kQueryPreScale = 64;  // attention scores are divided by its square root
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr skald::Activation kActivation = skald::Activation::kGeluTanh;
  static constexpr bool kTiedEmbeddings = true;   // no output head of its own
  static constexpr bool kQKNorm = true;           // queries and keys are normalised per head
  static constexpr bool kPostNorms = true;        // and so are the outputs of attention and feed-forward
  static constexpr bool kUnitOffsetNorms = true;  // norms multiply by 1 + weight
  static constexpr bool kScaleEmbeddings = true;  // by the square root of kModelDim
};

struct WrongModel : MyModel {
  static constexpr std::string_view kName = "wrong-model";
  static constexpr skald::RopeSpec kRope = {.base = 10000.0};  // which no tensor shows, but config.json does
};

// Wrong on its own, so this stops the build with "kHeads must be a multiple of kKVHeads":
//   struct Impossible : MyModel { static constexpr int kKVHeads = 3; };

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<MyModel>(folder));
  SKALD_ASSIGN(auto cache, skald::CreateKVCache<MyModel>());
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());

  SKALD_ASSIGN(auto text, tokenizer.Encode("Blessed are the"));
  if (const auto bos = tokenizer.bos_id()) text.insert(text.begin(), *bos);
  SKALD_ASSIGN(const auto logits, model.Forward(cache, text, workspace));
  SKALD_ASSIGN(const auto next, skald::Sample(logits, {.temperature = 0, .num_logprobs = 5}, {}, cache.size()));
  std::cout << "Blessed are the ...\n";
  for (const auto& [id, logprob] : next.top_logprobs) {
    std::cout << "  " << tokenizer.IdToPiece(id).value_or("") << "  " << logprob << '\n';
  }

  const auto wrong = skald::LoadModel<WrongModel>(folder);
  std::cout << "With a wrong Config: " << (wrong ? "loaded" : wrong.error().message) << '\n';
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
