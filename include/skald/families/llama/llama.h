// SPDX-License-Identifier: Apache-2.0
//
// The Llama family: Llama 2 (arXiv:2307.09288), Llama 3 (arXiv:2407.21783), and models of other makers with
// the same layers. The numbers of each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_LLAMA_LLAMA_H_
#define SKALD_FAMILIES_LLAMA_LLAMA_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct LlamaFamily {
  static constexpr std::string_view kModelType = "llama";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
};

/// Trained on 8192 tokens, then stretched: by 8 in Llama 3.1, by 32 in the small models of Llama 3.2.
constexpr RopeSpec Llama3Rope(double factor) {
  return {.base = 500000.0,
          .scaling = RopeScaling::kLlama3,
          .factor = factor,
          .low_frequency_factor = 1.0,
          .high_frequency_factor = 4.0,
          .original_context = 8192.0};
}

/// https://huggingface.co/meta-llama/Llama-2-7b-hf
struct Llama2_7B : LlamaFamily {
  static constexpr std::string_view kName = "llama2-7b";
  static constexpr int kModelDim = 4096, kFeedForwardDim = 11008, kVocabSize = 32000;
  static constexpr int kHeads = 32, kKVHeads = 32, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = false;
};

/// https://huggingface.co/meta-llama/Llama-3.1-8B
struct Llama3_1_8B : LlamaFamily {
  static constexpr std::string_view kName = "llama3.1-8b";
  static constexpr int kModelDim = 4096, kFeedForwardDim = 14336, kVocabSize = 128256;
  static constexpr int kHeads = 32, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = Llama3Rope(8.0);
  static constexpr bool kTiedEmbeddings = false;
};

/// https://huggingface.co/meta-llama/Llama-3.2-1B
struct Llama3_2_1B : LlamaFamily {
  static constexpr std::string_view kName = "llama3.2-1b";
  static constexpr int kModelDim = 2048, kFeedForwardDim = 8192, kVocabSize = 128256;
  static constexpr int kHeads = 32, kKVHeads = 8, kHeadDim = 64;
  static constexpr auto kLayers = RepeatLayers<16>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = Llama3Rope(32.0);
  static constexpr bool kTiedEmbeddings = true;
};

/// https://huggingface.co/meta-llama/Llama-3.2-3B
struct Llama3_2_3B : LlamaFamily {
  static constexpr std::string_view kName = "llama3.2-3b";
  static constexpr int kModelDim = 3072, kFeedForwardDim = 8192, kVocabSize = 128256;
  static constexpr int kHeads = 24, kKVHeads = 8, kHeadDim = 128;
  static constexpr auto kLayers = RepeatLayers<28>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = Llama3Rope(32.0);
  static constexpr bool kTiedEmbeddings = true;
};

/// https://huggingface.co/TinyLlama/TinyLlama-1.1B-Chat-v1.0
struct TinyLlama_1_1B : LlamaFamily {
  static constexpr std::string_view kName = "tinyllama-1.1b";
  static constexpr int kModelDim = 2048, kFeedForwardDim = 5632, kVocabSize = 32000;
  static constexpr int kHeads = 32, kKVHeads = 4, kHeadDim = 64;
  static constexpr auto kLayers = RepeatLayers<22>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = false;
};

/// A storyteller by Andrej Karpathy, published without a config.json: the sizes are the header of stories15M.bin at
/// https://huggingface.co/karpathy/tinyllamas, the rest is fixed by https://github.com/karpathy/llama2.c (run.c), where
/// a positive vocabulary size in the header means tied.
struct Stories15M : LlamaFamily {
  static constexpr std::string_view kName = "stories15m";
  static constexpr int kModelDim = 288, kFeedForwardDim = 768, kVocabSize = 32000;
  static constexpr int kHeads = 6, kKVHeads = 6, kHeadDim = 48;
  static constexpr auto kLayers = RepeatLayers<6>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

/// The smallest of them, published with a config.json: https://huggingface.co/karpathy/tinyllamas/tree/main/stories260K
struct Stories260K : LlamaFamily {
  static constexpr std::string_view kName = "stories260k";
  static constexpr int kModelDim = 64, kFeedForwardDim = 172, kVocabSize = 512;
  static constexpr int kHeads = 8, kKVHeads = 4, kHeadDim = 8;
  static constexpr auto kLayers = RepeatLayers<5>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_LLAMA_LLAMA_H_
