// SPDX-License-Identifier: Apache-2.0
//
// GGUF metadata of small models of every architecture, in the form that llama.cpp's converters write.

#ifndef SKALD_TESTS_CONFIGS_GGUF_SAMPLES_H_
#define SKALD_TESTS_CONFIGS_GGUF_SAMPLES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "skald/families/readers/detail/model_fields.h"

namespace skald::testing {

struct GgufSample {
  std::string architecture;
  nlohmann::json metadata;
  GgufTensorFacts facts = {.vocab_size = 100, .has_head = true};
};

// Returns a sample with four layers; `more` is without the architecture's name.
inline GgufSample SampleOf(const std::string& architecture, const nlohmann::json& more) {
  const nlohmann::json common = {{"block_count", 4},
                                 {"context_length", 4096},
                                 {"embedding_length", 64},
                                 {"feed_forward_length", 96},
                                 {"attention.head_count", 4},
                                 {"attention.head_count_kv", 2},
                                 {"attention.layer_norm_rms_epsilon", 1e-5}};
  GgufSample sample = {architecture, {{"general.architecture", architecture}, {"general.file_type", 1}}};
  for (const nlohmann::json* values : {&common, &more}) {
    for (const auto& [name, value] : values->items()) sample.metadata[architecture + "." + name] = value;
  }
  return sample;
}

inline nlohmann::json Joined(nlohmann::json values, const nlohmann::json& more) {
  values.update(more);
  return values;
}

// Returns a sample with LayerNorms.
inline GgufSample LayerNormSample(const std::string& architecture, const nlohmann::json& more) {
  GgufSample sample = SampleOf(architecture, more);
  sample.metadata.erase(architecture + ".attention.layer_norm_rms_epsilon");
  sample.metadata[architecture + ".attention.layer_norm_epsilon"] = 1e-5;
  return sample;
}

// Of architectures with LayerNorms, RoPE of neighbours, and further mixtures of experts.
inline std::vector<GgufSample> NeighbourSamples(const nlohmann::json& plain, const nlohmann::json& experts,
                                                const nlohmann::json& sigmoids) {
  using nlohmann::json;
  const json part = {{"rope.dimension_count", 8}}, scaled = {{"logit_scale", 0.25}, {"rope.scaling.type", "none"}};
  const json sliding = {{"attention.sliding_window", 32}, {"rope.dimension_count", 16}, {"vocab_size", 100}};
  return {
      SampleOf("glm4", Joined(plain, part)),
      SampleOf("ernie4_5", plain),
      SampleOf("ernie4_5-moe", Joined(Joined(plain, experts), {{"interleave_moe_layer_step", 1},
                                                               {"leading_dense_block_count", 1},
                                                               {"expert_shared_count", 2},
                                                               {"expert_shared_feed_forward_length", 96}})),
      LayerNormSample("command-r", Joined({{"rope.freq_base", 5e5}}, scaled)),
      LayerNormSample("cohere2", Joined(Joined(plain, scaled), sliding)),
      LayerNormSample("starcoder2", {{"rope.freq_base", 5e5}}),
      LayerNormSample("stablelm", Joined(part, {{"use_parallel_residual", false}})),
      SampleOf("minimax-m2", Joined(Joined(plain, experts), Joined(part, {{"expert_gating_func", 2}}))),
      SampleOf("dots1", Joined(Joined(plain, experts), Joined(sigmoids, {{"rope.dimension_count", 16}}))),
      LayerNormSample("phi2", Joined({{"rope.freq_base", 5e5}}, part)),
      LayerNormSample("gptneox", Joined(Joined({{"rope.freq_base", 5e5}}, part), {{"use_parallel_residual", false}})),
      LayerNormSample("falcon", {{"tensor_data_layout", "jploski"}}),
      SampleOf("bailingmoe2",
               Joined(Joined(Joined(plain, experts), sigmoids), {{"expert_group_count", 2},
                                                                 {"expert_group_used_count", 1},
                                                                 {"expert_shared_feed_forward_length", 48}})),
      SampleOf("internlm2", {{"rope.freq_base", 5e5}}),
      LayerNormSample("gpt2", json::object()),
      SampleOf("phimoe", Joined({{"rope.freq_base", 5e5}}, {{"expert_count", 8}, {"expert_used_count", 2}})),
      SampleOf("apertus", {{"rope.freq_base", 5e5}}),
      SampleOf("bitnet", {{"rope.freq_base", 5e5}, {"rope.scaling.type", "linear"}, {"rope.scaling.factor", 1.0}}),
      SampleOf("smallthinker",
               Joined(Joined(plain, experts), {{"attention.sliding_window", 32}, {"expert_gating_func", 2}})),
      SampleOf("llama4", Joined(Joined(plain, experts), {{"interleave_moe_layer_step", 2}})),
      SampleOf("hunyuan-dense", plain),
      SampleOf("hunyuan-moe", Joined(Joined(plain, experts),
                                     {{"expert_shared_count", 1}, {"expert_shared_feed_forward_length", 96}}))};
}

inline std::vector<GgufSample> AttentionSamples() {
  using nlohmann::json;
  const json rope = {{"rope.freq_base", 5e5}}, heads = {{"attention.key_length", 16}, {"attention.value_length", 16}};
  const json turned = Joined(rope, {{"rope.dimension_count", 16}, {"vocab_size", 100}}), plain = Joined(rope, heads);
  const json experts = {{"expert_count", 8}, {"expert_used_count", 2}};
  const json window = {{"attention.sliding_window", 32}};
  std::vector<GgufSample> samples = {
      SampleOf("llama", turned),
      SampleOf("llama", Joined(turned, experts)),
      SampleOf("qwen2", rope),
      SampleOf("qwen3", plain),
      SampleOf("qwen3moe", Joined(plain, Joined(experts, {{"expert_feed_forward_length", 48}}))),
      SampleOf("olmo2", rope),
      SampleOf("smollm3", turned),
      SampleOf("phi3", Joined(turned, window)),
      SampleOf("gemma", heads),
      SampleOf("gemma2", Joined(heads, Joined(window, {{"attention.scale", 0.25},
                                                       {"attn_logit_softcapping", 50.0},
                                                       {"final_logit_softcapping", 30.0}}))),
      SampleOf("gemma3", Joined(plain, Joined(window, {{"attention.scale", 0.25},
                                                       {"attention.sliding_window_pattern", 2},
                                                       {"rope.freq_base_swa", 12000.0}}))),
  };
  const json yarn = {{"rope.scaling.type", "yarn"},
                     {"rope.scaling.factor", 4.0},
                     {"rope.scaling.original_context_length", 1024},
                     {"rope.scaling.yarn_beta_fast", 32.0},
                     {"rope.scaling.yarn_beta_slow", 1.0}};
  samples.push_back(SampleOf("qwen3", Joined(plain, yarn)));
  samples.push_back(SampleOf(
      "gpt-oss", Joined(Joined(plain, yarn), Joined(Joined(experts, window), {{"expert_feed_forward_length", 32}}))));
  const json gemma4 = {{"attention.key_length_swa", 8},
                       {"attention.value_length_swa", 8},
                       {"attention.sliding_window_pattern", {true, true, true, false}},
                       {"attention.shared_kv_layers", 0},
                       {"embedding_length_per_layer_input", 0},
                       {"final_logit_softcapping", 30.0},
                       {"rope.freq_base_swa", 12000.0},
                       {"rope.dimension_count", 16},
                       {"rope.dimension_count_swa", 8}};
  samples.push_back(SampleOf("gemma4", Joined(Joined(plain, window), gemma4)));
  samples.back().facts.value_projections = 4;
  const json gemma3n = {{"feed_forward_length", {96, 96, 80, 96}},
                        {"attention.key_length", 16},
                        {"attention.value_length", 16},
                        {"attention.sliding_window", 32},
                        {"attention.sliding_window_pattern", {true, false, true, false}},
                        {"attention.shared_kv_layers", 2},
                        {"activation_sparsity_scale", {1.64485, -1e300, 1.64485, -1e300}},
                        {"altup.active_idx", 0},
                        {"altup.num_inputs", 4},
                        {"embedding_length_per_layer_input", 8},
                        {"rope.freq_base", 1e6}};
  samples.push_back(SampleOf("gemma3n", gemma3n));
  samples.back().facts.laurel_rank = 8;
  const json latent = {{"attention.head_count_kv", 1},
                       {"attention.q_lora_rank", 24},
                       {"attention.kv_lora_rank", 20},
                       {"attention.key_length", 28},
                       {"attention.value_length", 20},
                       {"attention.key_length_mla", 24},
                       {"attention.value_length_mla", 18},
                       {"rope.dimension_count", 8},
                       {"rope.scaling.yarn_log_multiplier", 0.1},
                       {"vocab_size", 100},
                       {"leading_dense_block_count", 1},
                       {"expert_feed_forward_length", 48},
                       {"expert_shared_count", 1},
                       {"expert_group_count", 2},
                       {"expert_group_used_count", 1},
                       {"expert_gating_func", 2},
                       {"expert_weights_norm", true},
                       {"expert_weights_scale", 2.5}};
  samples.push_back(SampleOf("deepseek2", Joined(Joined(Joined(rope, yarn), experts), latent)));
  json of_mistral = Joined(Joined(Joined(rope, yarn), Joined(experts, latent)), {{"attention.temperature_scale", 0.3}});
  for (const char* const name : {"expert_group_count", "expert_group_used_count", "expert_gating_func"}) {
    of_mistral.erase(name);
  }
  samples.push_back(SampleOf("mistral4", of_mistral));
  const json slides = Joined(window, {{"attention.sliding_window_pattern", {true, true, true, false}}});
  const json sigmoids = {{"rope.dimension_count", 8},        {"leading_dense_block_count", 1},
                         {"expert_feed_forward_length", 48}, {"expert_shared_count", 1},
                         {"expert_gating_func", 2},          {"expert_weights_norm", true},
                         {"expert_weights_scale", 1.5}};
  const json own_width = Joined(experts, {{"expert_feed_forward_length", 48}});
  const json images = {{"rope.dimension_sections", {6, 5, 5, 0}}, {"n_deepstack_layers", 3}};
  samples.push_back(SampleOf("mistral3", turned));
  samples.push_back(SampleOf("mistral3", Joined(Joined(turned, yarn), {{"rope.scaling.yarn_log_multiplier", 1.0},
                                                                       {"attention.temperature_scale", 0.2}})));
  samples.push_back(SampleOf("olmo2", Joined(Joined(rope, yarn), slides)));
  samples.push_back(SampleOf("olmoe", Joined(rope, experts)));
  samples.push_back(SampleOf("qwen2moe", Joined(Joined(rope, own_width), {{"expert_shared_feed_forward_length", 40}})));
  samples.push_back(SampleOf("qwen3vl", Joined(plain, images)));
  samples.push_back(SampleOf("qwen3vlmoe", Joined(Joined(plain, own_width), images)));
  samples.push_back(SampleOf("seed_oss", plain));
  samples.push_back(SampleOf("exaone4", plain));
  samples.push_back(SampleOf("exaone4", Joined(plain, slides)));
  samples.push_back(SampleOf("arcee", Joined(turned, yarn)));
  samples.push_back(SampleOf("glm4moe", Joined(Joined(plain, experts), sigmoids)));
  for (GgufSample& sample : NeighbourSamples(plain, own_width, sigmoids)) samples.push_back(std::move(sample));
  return samples;
}

inline std::vector<GgufSample> RecurrentSamples() {
  using nlohmann::json;
  const json ssm = {{"ssm.conv_kernel", 4},
                    {"ssm.inner_size", 128},
                    {"ssm.state_size", 16},
                    {"ssm.time_step_rank", 8},
                    {"ssm.group_count", 1}};
  const json rope = {{"rope.freq_base", 5e5}}, heads = {{"attention.key_length", 16}, {"attention.value_length", 16}};
  const json experts = {{"expert_count", 8}, {"expert_used_count", 2}, {"expert_feed_forward_length", 48}};
  const json shared = {{"expert_shared_feed_forward_length", 40}};
  const json granite = {{"attention.scale", 0.125}, {"embedding_scale", 12.0}, {"residual_scale", 0.5},
                        {"logit_scale", 4.0},       {"vocab_size", 100},       {"rope.dimension_count", 16}};
  const json some = {{"attention.head_count_kv", {0, 2, 0, 2}}};
  const json qwen =
      Joined(Joined(Joined(rope, heads), ssm),
             {{"rope.dimension_count", 4}, {"full_attention_interval", 2}, {"rope.dimension_sections", {1, 1, 0, 0}}});
  const json conv = Joined(Joined(rope, some), {{"shortconv.l_cache", 3}, {"vocab_size", 100}});
  const json nemotron = Joined(Joined(heads, ssm), {{"attention.head_count_kv", {0, 2, 0, 0}},
                                                    {"feed_forward_length", {0, 0, 0, 96}},
                                                    {"vocab_size", 100},
                                                    {"attention.layer_norm_epsilon", 1e-5}});
  std::vector<GgufSample> samples = {
      SampleOf("granitehybrid",
               Joined(Joined(granite, ssm), Joined(some, {{"rope.scaling.finetuned", false},
                                                          {"rope.freq_base", 1e4},
                                                          {"expert_count", 0},
                                                          {"expert_used_count", 0},
                                                          {"expert_shared_feed_forward_length", 96}}))),
      SampleOf("granite", Joined(Joined(rope, granite), {{"rope.scaling.finetuned", true}})),
      SampleOf("granitemoe", Joined(Joined(rope, granite), {{"expert_count", 8}, {"expert_used_count", 2}})),
      SampleOf("lfm2", conv),
      SampleOf("lfm2moe", Joined(Joined(conv, experts), {{"leading_dense_block_count", 1}, {"expert_gating_func", 2}})),
      SampleOf("qwen3next", Joined(Joined(qwen, experts), shared)),
      SampleOf("qwen35", qwen),
      SampleOf("qwen35moe", Joined(Joined(qwen, experts), shared)),
      SampleOf("nemotron_h", nemotron),
      SampleOf("nemotron_h_moe", Joined(Joined(Joined(nemotron, experts), shared), {{"expert_weights_norm", true},
                                                                                    {"expert_weights_scale", 2.5},
                                                                                    {"expert_group_count", 1},
                                                                                    {"expert_group_used_count", 1}})),
      SampleOf("nemotron_h_moe",
               Joined(Joined(Joined(nemotron, experts), shared),
                      {{"expert_weights_norm", true}, {"expert_weights_scale", 2.5}, {"moe_latent_size", 24}})),
      SampleOf("falcon-h1", Joined(Joined(Joined(rope, heads), ssm), {{"vocab_size", 100}})),
  };
  samples.push_back(SampleOf("rwkv7", {{"wkv.head_size", 64},
                                       {"attention.head_count", 0},
                                       {"attention.layer_norm_epsilon", 1e-5},
                                       {"token_shift_count", 2},
                                       {"attention.decay_lora_rank", 8},
                                       {"attention.iclr_lora_rank", 8},
                                       {"attention.value_residual_mix_lora_rank", 8},
                                       {"attention.gate_lora_rank", 8}}));
  samples.back().metadata.erase("rwkv7.attention.layer_norm_rms_epsilon");
  samples.back().metadata.erase("rwkv7.attention.head_count_kv");
  return samples;
}

// Of architectures most of whose layers are state spaces or delta rules.
inline std::vector<GgufSample> StateSpaceSamples() {
  using nlohmann::json;
  const json ssm = {{"ssm.conv_kernel", 4}, {"ssm.inner_size", 128}, {"ssm.state_size", 16}, {"ssm.time_step_rank", 8}};
  const json mixers = {{"attention.head_count", 0}, {"feed_forward_length", 0}};
  std::vector<GgufSample> samples = {
      SampleOf("mamba", Joined(Joined(ssm, mixers), {{"ssm.dt_b_c_rms", false}})),
      SampleOf("mamba", Joined(Joined(ssm, mixers), {{"ssm.dt_b_c_rms", true}})),
      SampleOf("mamba2", Joined(Joined(ssm, mixers), {{"ssm.group_count", 1}})),
  };
  for (GgufSample& sample : samples) sample.metadata.erase(sample.architecture + ".attention.head_count_kv");
  samples.push_back(SampleOf("jamba", Joined(ssm, {{"attention.head_count_kv", {0, 0, 2, 0}}})));
  samples.push_back(SampleOf(
      "jamba",
      Joined(ssm, {{"attention.head_count_kv", {0, 0, 2, 0}}, {"expert_count", 8}, {"expert_used_count", 2}})));
  samples.back().facts.expert_layers = {1, 3};
  samples.push_back(LayerNormSample("rwkv6", {{"wkv.head_size", 16},
                                              {"attention.head_count", 0},
                                              {"rescale_every_n_layers", 2},
                                              {"time_mix_extra_dim", 8},
                                              {"time_decay_extra_dim", 12}}));
  samples.back().metadata.erase("rwkv6.attention.head_count_kv");
  samples.push_back(SampleOf("kimi-linear", {{"attention.head_count_kv", {0, 0, 0, 1}},
                                             {"attention.kv_lora_rank", 20},
                                             {"attention.key_length", 28},
                                             {"attention.key_length_mla", 24},
                                             {"attention.value_length_mla", 18},
                                             {"rope.dimension_count", 8},
                                             {"rope.freq_base", 1e4},
                                             {"vocab_size", 100},
                                             {"kda.head_dim", 16},
                                             {"ssm.conv_kernel", 4},
                                             {"leading_dense_block_count", 1},
                                             {"expert_count", 8},
                                             {"expert_used_count", 2},
                                             {"expert_feed_forward_length", 48},
                                             {"expert_shared_count", 1},
                                             {"expert_gating_func", 2},
                                             {"expert_weights_scale", 2.5}}));
  const json heads = {{"attention.key_length", 16}, {"attention.value_length", 16}, {"vocab_size", 100}};
  const json minimax = Joined(heads, {{"attention.head_count", 4},
                                      {"attention.head_count_kv", 2},
                                      {"rope.freq_base", 1e7},
                                      {"rope.dimension_count", 8},
                                      {"expert_count", 8},
                                      {"expert_used_count", 2},
                                      {"residual_scale", 3.5}});
  samples.push_back(SampleOf("minimax-01", Joined(minimax, {{"full_attention_interval", 4}})));
  samples.push_back(
      SampleOf("minimax-01", Joined(minimax, {{"attention.recurrent_layers", {true, true, true, false}}})));
  samples.push_back(SampleOf("plamo2", Joined(Joined(heads, ssm), {{"attention.head_count", {0, 4, 0, 4}},
                                                                   {"attention.head_count_kv", {0, 2, 0, 2}},
                                                                   {"rope.freq_base", 1e4},
                                                                   {"ssm.group_count", 0}})));
  return samples;
}

// Of encoders.
inline std::vector<GgufSample> EncoderSamples() {
  const nlohmann::json norm = {
      {"attention.layer_norm_epsilon", 1e-12}, {"attention.causal", false}, {"pooling_type", 1}};
  const nlohmann::json rope = Joined(norm, {{"rope.freq_base", 1e4}});
  std::vector<GgufSample> samples = {
      SampleOf("bert", norm),
      SampleOf("jina-bert-v2", norm),
      SampleOf("jina-bert-v3", rope),
      SampleOf("nomic-bert", rope),
      SampleOf("nomic-bert-moe",
               Joined(rope, {{"moe_every_n_layers", 2}, {"expert_count", 4}, {"expert_used_count", 2}})),
      SampleOf("modern-bert", Joined(rope, {{"attention.sliding_window", 128}, {"rope.freq_base_swa", 1e4}}))};
  for (GgufSample& sample : samples) {
    sample.metadata.erase(sample.architecture + ".attention.layer_norm_rms_epsilon");
    sample.metadata.erase(sample.architecture + ".attention.head_count_kv");
  }
  samples.push_back(SampleOf("t5encoder", {{"attention.key_length", 16},
                                           {"attention.value_length", 16},
                                           {"attention.layer_norm_epsilon", 1e-5},
                                           {"attention.relative_buckets_count", 32}}));
  samples.back().metadata.erase("t5encoder.attention.head_count_kv");
  samples.push_back(SampleOf("gemma-embedding", {{"attention.key_length", 16},
                                                 {"attention.value_length", 16},
                                                 {"attention.sliding_window", 512},
                                                 {"attention.causal", false},
                                                 {"rope.freq_base", 1e6},
                                                 {"dense_2_feat_in", 64},
                                                 {"dense_2_feat_out", 96}}));
  return samples;
}

// One or more for each architecture of decoders that Skald reads.
inline std::vector<GgufSample> GgufSamples() {
  std::vector<GgufSample> samples = AttentionSamples();
  for (auto* const more : {&RecurrentSamples, &StateSpaceSamples}) {
    for (GgufSample& sample : more()) samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONFIGS_GGUF_SAMPLES_H_
