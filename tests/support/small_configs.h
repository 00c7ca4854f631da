// SPDX-License-Identifier: Apache-2.0
//
// Configs of small models, for tests at compile time. Tests that compute take their models from small_models.h, which
// costs no compile time.

#ifndef SKALD_TESTS_SUPPORT_SMALL_CONFIGS_H_
#define SKALD_TESTS_SUPPORT_SMALL_CONFIGS_H_

#include <array>
#include <string>
#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/falcon_h1/falcon_h1.h"
#include "skald/families/gemma3/gemma3.h"
#include "skald/families/gemma3n/gemma3n.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/families/gpt_oss/gpt_oss.h"
#include "skald/families/kimi_linear/kimi_linear.h"
#include "skald/families/lfm2/lfm2.h"
#include "skald/families/llama/llama.h"
#include "skald/families/minimax/minimax.h"
#include "skald/families/nemotron_h/nemotron_h.h"
#include "skald/families/plamo2/plamo2.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/families/rwkv6/rwkv6.h"
#include "skald/families/rwkv7/rwkv7.h"
#include "tests/support/own_types.h"
#include "tests/support/small_models.h"

namespace skald::testing {

// Every optional feature at once, sizes that fill no vector evenly, and a window that ends inside blocks.
struct AllFeatures : Gemma3Family {
  static constexpr std::string_view kName = "all-features";
  static constexpr int kModelDim = 72, kFeedForwardDim = 90, kVocabSize = 150;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 24;
  static constexpr int kQueryPreScale = 20;
  static constexpr auto kLayers = RepeatLayers<4>({LayerKind::kSlidingAttention, LayerKind::kFullAttention});
  static constexpr int kWindow = 40;
  static constexpr float kAttentionSoftcap = 20.0f, kFinalSoftcap = 15.0f;
  static constexpr bool kQKVBias = true;
};

// Every kind of layer but kMamba2 in one model, with sizes that fill no vector evenly.
struct Hybrid : LlamaFamily {
  static constexpr std::string_view kName = "hybrid";
  static constexpr int kModelDim = 72, kFeedForwardDim = 50, kVocabSize = 150;
  static constexpr int kHeads = 4, kKVHeads = 1, kHeadDim = 24, kRotaryDim = 12;
  static constexpr auto kLayers =
      RepeatLayers<5>({LayerKind::kRgLru, LayerKind::kSlidingAttention, LayerKind::kMamba, LayerKind::kFullAttention});
  static constexpr int kWindow = 40;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr int kConvWidth = 4, kLruWidth = 60, kLruBlocks = 3;
  static constexpr int kInnerDim = 84, kStateDim = 6, kTimeStepRank = 5;
  static constexpr bool kTiedEmbeddings = true;
};

// Recurrence alone, in the grouped form, without feed-forward blocks.
struct SmallMamba2 {
  static constexpr std::string_view kName = "small-mamba2";
  static constexpr int kModelDim = 48, kVocabSize = 100;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba2});
  static constexpr int kConvWidth = 3, kSsmHeads = 4, kSsmHeadDim = 20, kStateDim = 10, kSsmGroups = 2;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kTiedEmbeddings = true;
};

// LayerNorm, feed-forward layers without a gate, and a bias wherever one can be.
struct AllBiases : LlamaFamily {
  static constexpr std::string_view kName = "all-biases";
  static constexpr int kModelDim = 60, kVocabSize = 110;
  static constexpr int kHeads = 3, kKVHeads = 3, kHeadDim = 20;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f};
  static constexpr FeedForward kFeedForward = {.width = 90, .activation = Activation::kReluSquared, .bias = true};
  static constexpr bool kQKVBias = true, kAttentionOutputBias = true, kQKNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

// Experts, a dense layer, experts.
struct Mixture : LlamaFamily {
  static constexpr std::string_view kName = "mixture";
  static constexpr int kModelDim = 52, kFeedForwardDim = 70, kVocabSize = 90;
  static constexpr int kHeads = 3, kKVHeads = 1, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<3>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr MixtureOfExperts kFeedForward = {.experts = 7, .chosen = 3, .width = 32};
  static constexpr std::array kDenseLayers = {1};
  static constexpr bool kTiedEmbeddings = true;
};

// Attention beside a feed-forward layer after one LayerNorm without bias, and RoPE of neighbours in a part of each
// head.
struct ParallelLayers : LlamaFamily {
  static constexpr std::string_view kName = "parallel-layers";
  static constexpr int kModelDim = 44, kFeedForwardDim = 50, kVocabSize = 80;
  static constexpr int kHeads = 3, kKVHeads = 1, kHeadDim = 20, kRotaryDim = 12;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention, LayerKind::kNopeAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr LayerNorm kNorm = {.epsilon = 1e-5f, .bias = false};
  static constexpr float kLogitsScaling = 4.0f;
  static constexpr bool kInterleavedRope = true, kParallelLayers = true, kQKVBias = true, kTiedEmbeddings = true;
};

// Norms only after layers and of whole projections, layers without RoPE, and a LongRoPE of a part of each head.
struct NewerAttention : LlamaFamily {
  static constexpr std::string_view kName = "newer-attention";
  static constexpr int kModelDim = 60, kFeedForwardDim = 70, kVocabSize = 120;
  static constexpr int kHeads = 6, kKVHeads = 2, kHeadDim = 20, kRotaryDim = 10, kWindow = 40;
  static constexpr std::array kLayers = {LayerKind::kFullAttention, LayerKind::kNopeAttention,
                                         LayerKind::kSlidingAttention};
  static constexpr RopeSpec kRope = {
      .scaling = RopeScaling::kLongRope, .original_context = 4096.0, .attention_factor = 1.2f};
  static constexpr std::array kRopeFactors = {1.0f, 2.0f, 4.0f, 7.0f, 9.0f};
  static constexpr std::array kShortRopeFactors = {1.0f, 1.1f, 1.2f, 1.3f, 1.4f};
  static constexpr bool kPreNorms = false, kPostNorms = true, kQKProjectionNorm = true, kTiedEmbeddings = true;
};

// Recurrence beside attention without RoPE, a feed-forward layer beside experts, and multipliers.
struct HybridMixture : LlamaFamily {
  static constexpr std::string_view kName = "hybrid-mixture";
  static constexpr int kModelDim = 60, kFeedForwardDim = 36, kVocabSize = 110;
  static constexpr int kHeads = 3, kKVHeads = 1, kHeadDim = 20;
  static constexpr int kConvWidth = 4, kSsmHeads = 5, kSsmHeadDim = 12, kStateDim = 10, kSsmGroups = 1;
  static constexpr auto kLayers = RepeatLayers<3>({LayerKind::kMamba2, LayerKind::kNopeAttention});
  static constexpr MixtureOfExperts kFeedForward = {.experts = 5, .chosen = 2, .width = 24};
  static constexpr bool kSharedFeedForward = true, kTiedEmbeddings = true;
  static constexpr double kQueryPreScale = 9.0;
  static constexpr float kEmbeddingMultiplier = 3.0f, kResidualMultiplier = 0.4f, kLogitsScaling = 2.5f;
};

// Short convolutions with biases, before and after attention.
struct ShortConvs {
  static constexpr std::string_view kName = "short-convolutions";
  using Layers = LayerTypes<Attention, GatedFeedForward, ShortConv>;
  static constexpr ModelSpec Spec() {
    return Lfm2Spec({.model_dim = 60,
                     .vocab_size = 100,
                     .layers = 3,
                     .heads = 3,
                     .kv_heads = 1,
                     .feed_forward_dim = 50,
                     .attention_layers = {1},
                     .conv_width = 4,
                     .conv_bias = true});
  }
};

// Sinks in sliding and full layers, YaRN, experts with biases and a clamped gate.
struct Sinks {
  static constexpr std::string_view kName = "sinks";
  using Layers = LayerTypes<Attention, MixtureOfExperts>;
  static constexpr ModelSpec Spec() {
    return GptOssSpec({.model_dim = 56,
                       .vocab_size = 100,
                       .heads = 6,
                       .kv_heads = 2,
                       .head_dim = 20,
                       .window = 40,
                       .slides = {true, false},
                       .experts = 5,
                       .chosen_experts = 2,
                       .expert_width = 32});
  }
};

// Layers that share keys and values, keys used as values, heads of two sizes, inputs of each layer.
struct SharedKeys {
  static constexpr std::string_view kName = "shared-keys";
  using Layers = Gemma4Family::Layers;
  static constexpr ModelSpec Spec() {
    Gemma4Sizes sizes = {.model_dim = 52,
                         .vocab_size = 100,
                         .feed_forward_dim = 40,
                         .slides = Gemma4Slides(4, 2),
                         .heads = 4,
                         .kv_heads = 2,
                         .head_dim = 12,
                         .full_kv_heads = 1,
                         .full_head_dim = 20,
                         .window = 40,
                         .keys_as_values = true,
                         .shared_layers = 2,
                         .per_layer_dim = 10,
                         .experts = 5,
                         .chosen_experts = 2,
                         .expert_width = 32};
    sizes.rope.turning_pairs = 3;
    return Gemma4Spec(sizes);
  }
};

// Experts weighed by sigmoids and chosen in groups with a bias, a gated shared expert, a dense layer.
struct SharedExperts : LlamaFamily {
  static constexpr std::string_view kName = "shared-experts";
  static constexpr int kModelDim = 44, kFeedForwardDim = 70, kVocabSize = 90;
  static constexpr int kHeads = 3, kKVHeads = 1, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<3>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr MixtureOfExperts kFeedForward = {.experts = 12,
                                                    .chosen = 3,
                                                    .width = 21,
                                                    .sigmoid = true,
                                                    .selection_bias = true,
                                                    .groups = 4,
                                                    .chosen_groups = 2,
                                                    .sum_epsilon = 1e-6f,
                                                    .weight_scale = 2.5f,
                                                    .shared_width = 40,
                                                    .shared_gate = true};
  static constexpr std::array kDenseLayers = {0};
  static constexpr bool kTiedEmbeddings = true;
};

// Gated delta nets, attention with output gates, experts.
struct DeltaNets {
  static constexpr std::string_view kName = "delta-nets";
  using Layers = LayerTypes<Attention, GatedDeltaNet, GatedFeedForward, MixtureOfExperts>;
  static constexpr ModelSpec Spec() {
    return Qwen3NextSpec(
        {.model_dim = 44,
         .vocab_size = 90,
         .layers = 3,
         .heads = 3,
         .kv_heads = 1,
         .head_dim = 20,
         .rotary_dim = 6,
         .delta_net = {.key_heads = 2, .value_heads = 4, .key_dim = 10, .value_dim = 18, .conv_width = 3},
         .attention_interval = 2,
         .feed_forward_dim = 50,
         .experts = QwenExperts(5, 2, 21),
         .dense_layers = {1}});
  }
};

// Layers of one block each: Mamba-2, feed-forward layers and experts without gates, these in a latent space, attention.
struct SingleBlocks {
  static constexpr std::string_view kName = "single-blocks";
  using Layers = NemotronHFamily::Layers;
  static constexpr ModelSpec Spec() {
    NemotronHSizes sizes = {.model_dim = 44,
                            .vocab_size = 90,
                            .pattern = "ME*-M",
                            .heads = 3,
                            .kv_heads = 1,
                            .head_dim = 20,
                            .feed_forward_dim = 50};
    sizes.mamba.heads = 4, sizes.mamba.head_dim = 14, sizes.mamba.state_dim = 10, sizes.mamba.groups = 2;
    sizes.mamba.conv_width = 3;
    sizes.experts = NemotronHExperts();
    sizes.experts.experts = 6, sizes.experts.chosen = 2, sizes.experts.width = 21;
    sizes.experts.shared_width = 30, sizes.experts.latent_dim = 25;
    return NemotronHSpec(sizes);
  }
};

// Attention beside Mamba-2 in each layer, and every multiplier.
struct SideBySide {
  static constexpr std::string_view kName = "side-by-side";
  using Layers = FalconH1Family::Layers;
  static constexpr ModelSpec Spec() {
    FalconH1Sizes sizes = {.model_dim = 44,
                           .vocab_size = 90,
                           .layers = 2,
                           .feed_forward_dim = 50,
                           .heads = 3,
                           .kv_heads = 1,
                           .head_dim = 20};
    sizes.mamba.heads = 4, sizes.mamba.head_dim = 14, sizes.mamba.state_dim = 10, sizes.mamba.groups = 2;
    sizes.mamba.conv_width = 3, sizes.mamba.has_norm = false;
    sizes.multipliers.embedding = 2.5, sizes.multipliers.head = 0.6, sizes.multipliers.key = 0.7;
    sizes.multipliers.attention_in = 1.2, sizes.multipliers.attention_out = 0.9;
    sizes.multipliers.ssm_in = 1.25, sizes.multipliers.ssm_out = 0.75;
    sizes.multipliers.ssm = {0.7, 0.5, 0.9, 1.3, 0.8};
    sizes.multipliers.gate = 0.85, sizes.multipliers.down = 0.6;
    return FalconH1Spec(sizes);
  }
};

// Time and channel mixes, values carried from layer to layer, normalised embeddings.
struct TimeMixes {
  static constexpr std::string_view kName = "time-mixes";
  using Layers = Rwkv7Family::Layers;
  static constexpr ModelSpec Spec() {
    return Rwkv7Spec({.model_dim = 54,
                      .vocab_size = 90,
                      .layers = 3,
                      .feed_forward_dim = 70,
                      .head_dim = 18,
                      .decay_rank = 9,
                      .rate_rank = 7,
                      .value_rank = 5,
                      .gate_rank = 12});
  }
};

// Latents instead of keys and values, beside experts in groups with one that all rows share, and a dense layer.
struct Latents {
  static constexpr std::string_view kName = "latents";
  using Layers = DeepSeekV3Family::Layers;
  static constexpr ModelSpec Spec() {
    DeepSeekV3Sizes sizes = {.model_dim = 44, .vocab_size = 90, .feed_forward_dim = 50};
    sizes.dense = FirstLayersDense(2, 1);
    sizes.attention.heads = 3, sizes.attention.query_rank = 30, sizes.attention.latent_dim = 26;
    sizes.attention.rope_dim = 10, sizes.attention.nope_dim = 14, sizes.attention.value_dim = 22;
    sizes.attention.mscale = 1.2f;
    sizes.experts.experts = 6, sizes.experts.chosen = 2, sizes.experts.width = 21, sizes.experts.shared_width = 21;
    sizes.experts.groups = 3, sizes.experts.chosen_groups = 2, sizes.experts.weight_scale = 1.8f;
    return DeepSeekV3Spec(sizes);
  }
};

// Delta rules and sums whose keys decay each by itself, latents without positions, Mamba with norms of what it selects.
struct KeyDecays {
  static constexpr std::string_view kName = "key-decays";
  using Layers = LayerTypes<KimiDelta, LatentAttention, Mamba, GatedFeedForward, MixtureOfExperts, RwkvDecayedTimeMix,
                            RwkvChannelMix>;
  static constexpr ModelSpec Spec() {
    KimiLinearSizes sizes = {.model_dim = 44, .vocab_size = 90, .feed_forward_dim = 50};
    sizes.attends = {false, true}, sizes.dense = FirstLayersDense(2, 1);
    sizes.delta.heads = 3, sizes.delta.head_dim = 14, sizes.delta.conv_width = 3;
    sizes.attention.heads = 3, sizes.attention.latent_dim = 26;
    sizes.attention.rope_dim = 10, sizes.attention.nope_dim = 14, sizes.attention.value_dim = 22;
    sizes.experts.experts = 6, sizes.experts.chosen = 2, sizes.experts.width = 21, sizes.experts.shared_width = 21;
    ModelSpec spec = KimiLinearSpec(sizes);
    const Mamba mamba = {
        .inner_dim = 40, .state_dim = 6, .time_step_rank = 5, .conv_width = 4, .selection_norm = RmsNorm()};
    Block scan = {.number = 2};
    scan.layers.push_back(mamba);
    spec.blocks.push_back(scan);
    const Rwkv6Sizes sums = {
        .model_dim = 44, .layers = 1, .feed_forward_dim = 30, .head_dim = 22, .mix_rank = 4, .decay_rank = 6};
    for (Block block : Rwkv6Spec(sums).blocks) {
      block.number = 3;
      spec.blocks.push_back(block);
    }
    return spec;
  }
};

// Sums that decay by heads, a stream that continues with normalised rows; Mamba-2 whose parts are selected, norms with
// offsets.
struct HeadDecays {
  static constexpr std::string_view kName = "head-decays";
  using Layers = LayerTypes<Attention, LightningAttention, SelectiveMamba2, GatedFeedForward, MixtureOfExperts>;
  static constexpr ModelSpec Spec() {
    ModelSpec spec = MiniMaxSpec({.model_dim = 44,
                                  .vocab_size = 90,
                                  .attends = {false, true},
                                  .heads = 3,
                                  .kv_heads = 1,
                                  .head_dim = 14,
                                  .rotary_dim = 10,
                                  .experts = {.experts = 5, .chosen = 2, .width = 21},
                                  .of_attention = {.alpha = 1.2f, .beta = 0.9f},
                                  .of_lightning = {.alpha = 1.3f},
                                  .of_experts = {.alpha = 1.1f}});
    Plamo2Sizes more = {.model_dim = 44,
                        .feed_forward_dim = 30,
                        .attends = {false, true},
                        .heads = 3,
                        .kv_heads = 1,
                        .head_dim = 10,
                        .window = 40,
                        .mamba_heads = 5,
                        .state_dim = 6};
    const ModelSpec selective = Plamo2Spec(more);
    for (Block block : selective.blocks) {
      block.number += 2;
      spec.blocks.push_back(block);
    }
    return spec;
  }
};

// Learned positions, norms within layers, factors of heads, RoPE of neighbours, layers side by side with a norm each,
// xIELU, a bias of the head.
struct InnerNorms {
  static constexpr std::string_view kName = "inner-norms";
  using Layers = LayerTypes<Attention, GatedFeedForward, FeedForward>;
  static constexpr ModelSpec Spec() {
    ModelSpec spec = {.model_dim = 44, .vocab_size = 80, .head_bias = true, .positions = 9000};
    const Attention attention = {.heads = 6,
                                 .kv_heads = 2,
                                 .head_dim = 14,
                                 .rotary_dim = 10,
                                 .rope = {.base = 10000.0},
                                 .query_pre_scale = 14.0,
                                 .head_norm = LayerNorm{.weight = false, .bias = false},
                                 .interleaved_rope = true,
                                 .head_factors = true,
                                 .output_norm = RmsNorm()};
    const GatedFeedForward gated = {.width = 50, .activation = Activation::kReluSquared, .inner_norm = RmsNorm()};
    const FeedForward plain = {.width = 34, .activation = Activation::kXielu};
    spec.blocks = {{.number = 0, .layers = {attention}},
                   {.number = 0, .norm_name = "feed_forward_norm", .layers = {gated}, .beside_previous = true},
                   {.number = 1, .layers = {attention}},
                   {.number = 1, .norm_name = "feed_forward_norm", .layers = {plain}}};
    return spec;
  }
};

// Windows that do not overlap, with norms after RoPE, beside queries that grow without RoPE; experts whose rows are
// weighed before them, and experts weighed against their neighbours by a router that reads what was before attention.
struct Chunks {
  static constexpr std::string_view kName = "chunks";
  using Layers = LayerTypes<Attention, MixtureOfExperts, CarriedInput>;
  static constexpr ModelSpec Spec() {
    ModelSpec spec = {.model_dim = 44, .vocab_size = 80, .tied_embeddings = true};
    const Attention chunked = {.heads = 4,
                               .kv_heads = 2,
                               .head_dim = 12,
                               .rotary_dim = 12,
                               .window = 40,
                               .rope = {.base = 10000.0},
                               .query_pre_scale = 12.0,
                               .head_norm = RmsNorm{.weight = false},
                               .interleaved_rope = true,
                               .norm_after_rope = true,
                               .chunked = true};
    const Attention growing = {.heads = 4,
                               .kv_heads = 2,
                               .head_dim = 12,
                               .query_pre_scale = 12.0,
                               .query_growth = 0.1f,
                               .query_growth_context = 16,
                               .query_growth_first = 1};
    const MixtureOfExperts weighed = {.experts = 5,
                                      .chosen = 1,
                                      .width = 26,
                                      .normalized = false,
                                      .sigmoid = true,
                                      .shared_width = 30,
                                      .weighs_input = true};
    const MixtureOfExperts mixed = {.experts = 6,
                                    .chosen = 2,
                                    .width = 22,
                                    .activation = Activation::kRelu,
                                    .mixer_reach = 0.4f,
                                    .carried_dim = 44};
    spec.blocks = {{.number = 0, .layers = {chunked}},
                   {.number = 0, .norm_name = "feed_forward_norm", .layers = {weighed}},
                   {.number = 1, .norm = std::nullopt, .layers = {CarriedInput{.width = 44}}},
                   {.number = 1, .layers = {growing}},
                   {.number = 1, .norm_name = "feed_forward_norm", .layers = {mixed}}};
    return spec;
  }
};

// Alternating updates of three streams, learned augmented residual layers, and gates of which most are cut. Gemma 3n's
// own cut would leave two or three of 50 barely open: the norm after them would magnify rounding errors thirty times.
struct Streams : Gemma3nFamily {
  static constexpr std::string_view kName = "streams";
  static constexpr ModelSpec Spec() {
    Gemma3nSizes sizes = {.model_dim = 44, .vocab_size = 90};
    sizes.slides = {true, false, true}, sizes.widths = {50, 42, 50}, sizes.cuts = {0.5f, 0.0f, 0.5f};
    sizes.heads = 4, sizes.kv_heads = 2, sizes.head_dim = 10, sizes.window = 7, sizes.shared_layers = 1;
    sizes.per_layer_dim = 6, sizes.per_layer_vocab = 80, sizes.streams = 3, sizes.laurel_rank = 5;
    return Gemma3nSpec(sizes);
  }
};

// A model of each kind of cache, norm and feed-forward layer, types of a user's own among them: those of SmallModels().
#define SKALD_SMALL_MODELS                                                                                        \
  AllFeatures, Hybrid, SmallMamba2, AllBiases, Mixture, NewerAttention, HybridMixture, ShortConvs, SharedExperts, \
      DeltaNets, TimeMixes, SingleBlocks, SideBySide, Sinks, SharedKeys, Latents, KeyDecays, ParallelLayers,      \
      InnerNorms, Chunks, Streams, HeadDecays, OwnTypes

// No optional feature, and one layer: its keys and values depend on nothing but their own token.
struct OneLayer : LlamaFamily {
  static constexpr std::string_view kName = "one-layer";
  static constexpr int kModelDim = 64, kFeedForwardDim = 96, kVocabSize = 100;
  static constexpr int kHeads = 4, kKVHeads = 4, kHeadDim = 16;
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

// The small model of a Config whose types of layers are ours or those of OwnTypes.
template <ModelConfig C>
SmallModel SmallModelOf() {
  return {std::string(C::kName), SpecOf<C>(), LayoutOf<C>()};
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_SMALL_CONFIGS_H_
