// SPDX-License-Identifier: Apache-2.0
//
// Qwen3-Next and Qwen 3.5, the text part: gated delta nets, and attention with output gates in each fourth layer; dense
// or with experts, one of which all rows share. The numbers of each size are those of the config.json on the page named
// above it.

#ifndef SKALD_FAMILIES_QWEN3_NEXT_QWEN3_NEXT_H_
#define SKALD_FAMILIES_QWEN3_NEXT_QWEN3_NEXT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/gated_delta_net.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in. `layers` is their number.
struct Qwen3NextSizes {
  int model_dim = 0, vocab_size = 0, layers = 0;
  int heads = 0, kv_heads = 0, head_dim = 256, rotary_dim = 64;
  GatedDeltaNet delta_net = {};                           ///< all but its norm, which is that of the model
  int attention_interval = 4;                             ///< the last of so many layers attends; or
  std::optional<std::vector<int>> attention_layers = {};  ///< these do, in rising order
  int feed_forward_dim = 0;                               ///< of layers without experts
  MixtureOfExperts experts = {};                          ///< none: of no layer
  std::vector<int> dense_layers = {};                     ///< that have none, in rising order
  bool tied_embeddings = false;
  float norm_epsilon = 1e-6f;
  RopeSpec rope = {.base = 1e7};
};

constexpr GatedDeltaNet QwenDeltaNet(int value_heads) {
  return {.key_heads = 16, .value_heads = value_heads, .key_dim = 128, .value_dim = 128, .conv_width = 4};
}

/// As many experts, of which so many are chosen; the shared one has their width in all published sizes.
constexpr MixtureOfExperts QwenExperts(int experts, int chosen, int width) {
  return {.experts = experts, .chosen = chosen, .width = width, .shared_width = width, .shared_gate = true};
}

constexpr ModelSpec Qwen3NextSpec(const Qwen3NextSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon, .unit_offset = true};
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = sizes.head_dim,
                         .rotary_dim = sizes.rotary_dim,
                         .query_pre_scale = static_cast<double>(sizes.head_dim),
                         .head_norm = norm,
                         .output_gate = true};
  attention.rope = sizes.rope;
  GatedDeltaNet delta_net = sizes.delta_net;
  delta_net.norm = {.epsilon = sizes.norm_epsilon};
  const GatedFeedForward dense = {.width = sizes.feed_forward_dim};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  for (int layer = 0; layer < sizes.layers; ++layer) {
    LayerSpec mixer = delta_net, feed_forward = dense;
    const bool attends = sizes.attention_layers ? std::ranges::binary_search(*sizes.attention_layers, layer)
                                                : (layer + 1) % sizes.attention_interval == 0;
    if (attends) mixer = attention;
    const bool has_experts = sizes.experts.experts > 0 && !std::ranges::binary_search(sizes.dense_layers, layer);
    if (has_experts) feed_forward = sizes.experts;
    AddUsualLayer(spec, static_cast<uint32_t>(layer), norm, std::move(mixer), std::move(feed_forward));
  }
  return spec;
}

/// The family of Qwen3-Next.
struct Qwen3NextFamily {
  static constexpr std::string_view kModelType = "qwen3_next";
  using Layers = LayerTypes<Attention, GatedDeltaNet, GatedFeedForward, MixtureOfExperts>;
};

/// Qwen 3.5 without experts.
struct Qwen3_5Family {
  static constexpr std::string_view kModelType = "qwen3_5_text";
  using Layers = LayerTypes<Attention, GatedDeltaNet, GatedFeedForward>;
};

/// Qwen 3.5 with experts.
struct Qwen3_5MoeFamily {
  static constexpr std::string_view kModelType = "qwen3_5_moe_text";
  using Layers = LayerTypes<Attention, GatedDeltaNet, MixtureOfExperts>;
};

/// https://huggingface.co/Qwen/Qwen3-Next-80B-A3B-Instruct
struct Qwen3Next_80B_A3B : Qwen3NextFamily {
  static constexpr std::string_view kName = "qwen3-next-80b-a3b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 2048,
                          .vocab_size = 151936,
                          .layers = 48,
                          .heads = 16,
                          .kv_heads = 2,
                          .delta_net = QwenDeltaNet(32),
                          .experts = QwenExperts(512, 10, 512)});
  }
};

/// https://huggingface.co/Qwen/Qwen3.5-0.8B
struct Qwen3_5_0_8B : Qwen3_5Family {
  static constexpr std::string_view kName = "qwen3.5-0.8b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 1024,
                          .vocab_size = 248320,
                          .layers = 24,
                          .heads = 8,
                          .kv_heads = 2,
                          .delta_net = QwenDeltaNet(16),
                          .feed_forward_dim = 3584,
                          .tied_embeddings = true});
  }
};

/// https://huggingface.co/Qwen/Qwen3.5-2B
struct Qwen3_5_2B : Qwen3_5Family {
  static constexpr std::string_view kName = "qwen3.5-2b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 2048,
                          .vocab_size = 248320,
                          .layers = 24,
                          .heads = 8,
                          .kv_heads = 2,
                          .delta_net = QwenDeltaNet(16),
                          .feed_forward_dim = 6144,
                          .tied_embeddings = true});
  }
};

/// https://huggingface.co/Qwen/Qwen3.5-4B
struct Qwen3_5_4B : Qwen3_5Family {
  static constexpr std::string_view kName = "qwen3.5-4b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 2560,
                          .vocab_size = 248320,
                          .layers = 32,
                          .heads = 16,
                          .kv_heads = 4,
                          .delta_net = QwenDeltaNet(32),
                          .feed_forward_dim = 9216,
                          .tied_embeddings = true});
  }
};

/// https://huggingface.co/Qwen/Qwen3.5-9B
struct Qwen3_5_9B : Qwen3_5Family {
  static constexpr std::string_view kName = "qwen3.5-9b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 4096,
                          .vocab_size = 248320,
                          .layers = 32,
                          .heads = 16,
                          .kv_heads = 4,
                          .delta_net = QwenDeltaNet(32),
                          .feed_forward_dim = 12288});
  }
};

/// https://huggingface.co/Qwen/Qwen3.5-27B
struct Qwen3_5_27B : Qwen3_5Family {
  static constexpr std::string_view kName = "qwen3.5-27b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 5120,
                          .vocab_size = 248320,
                          .layers = 64,
                          .heads = 24,
                          .kv_heads = 4,
                          .delta_net = QwenDeltaNet(48),
                          .feed_forward_dim = 17408});
  }
};

/// https://huggingface.co/Qwen/Qwen3.5-35B-A3B
struct Qwen3_5_35B_A3B : Qwen3_5MoeFamily {
  static constexpr std::string_view kName = "qwen3.5-35b-a3b";
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec({.model_dim = 2048,
                          .vocab_size = 248320,
                          .layers = 40,
                          .heads = 16,
                          .kv_heads = 2,
                          .delta_net = QwenDeltaNet(32),
                          .experts = QwenExperts(256, 8, 512)});
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_QWEN3_NEXT_QWEN3_NEXT_H_
