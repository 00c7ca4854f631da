// SPDX-License-Identifier: Apache-2.0
//
// A small Llama with the biases that its config.json can ask for.

#ifndef SKALD_TESTS_SUPPORT_BIASED_LLAMA_H_
#define SKALD_TESTS_SUPPORT_BIASED_LLAMA_H_

#include <string_view>

#include "skald/families/llama/llama.h"

namespace skald::testing {

struct Biased : LlamaFamily {
  static constexpr std::string_view kName = "biased";
  static constexpr int kModelDim = 6, kFeedForwardDim = 10, kVocabSize = 19;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 4;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = false;
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kFeedForwardBias = true;
};

inline constexpr const char* kBiasedConfigJson = R"({"model_type": "llama", "hidden_size": 6, "intermediate_size": 10,
    "vocab_size": 19, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "num_hidden_layers": 2,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "attention_bias": true, "mlp_bias": true,
    "tie_word_embeddings": false})";

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_BIASED_LLAMA_H_
