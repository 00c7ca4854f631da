// SPDX-License-Identifier: Apache-2.0
//
// Families that are known by their files alone, as llama.cpp's converter writes them, give the recorded answers of
// their original implementations.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/model/load_any.h"
#include "tests/support/compare_logits.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {
namespace attention_gguf_test {

using nlohmann::json;

struct Family {
  std::string folder, architecture;
  json more;                         // metadata beside those that all have, or null, without the architecture's name
  bool has_post_norm_names = false;  // the converter's name of the norm before feed-forward layers, or after layers
  bool has_rope_pairs = false;
  size_t groups = 0;        // of heads of queries, each before its keys and values in one tensor; 0: none
  bool as_columns = false;  // the folder's matrices are transposed
};

std::vector<Family> Families() {
  const json wide = {{"attention.head_count", 6}, {"attention.key_length", 10}, {"attention.value_length", 10},
                     {"embedding_length", 48},    {"feed_forward_length", 76},  {"attention.head_count_kv", 2}};
  const json usual = {{"attention.head_count", 6},
                      {"embedding_length", 60},
                      {"attention.head_count_kv", 2},
                      {"feed_forward_length", 76}};
  const auto joined = [](json values, const json& more) {
    values.update(more);
    return values;
  };
  const json yarn = {{"rope.freq_base", 5000.0},           {"rope.scaling.type", "yarn"},
                     {"rope.scaling.factor", 4.0},         {"rope.scaling.original_context_length", 32},
                     {"rope.scaling.yarn_beta_fast", 8.0}, {"rope.scaling.yarn_beta_slow", 1.0}};
  const json slides = {{"attention.sliding_window", 9},
                       {"attention.sliding_window_pattern", {true, true, true, false}}};
  const json experts = {{"expert_count", 7}, {"expert_used_count", 3}};
  const json layer_norm = {{"attention.layer_norm_rms_epsilon", nullptr}, {"attention.layer_norm_epsilon", 1e-5}};
  const json growing = {{"rope.scaling.original_context_length", 16},
                        {"rope.scaling.yarn_log_multiplier", 1.0},
                        {"attention.temperature_scale", 0.3}};
  const json sigmoids = {{"block_count", 3},           {"rope.dimension_count", 4}, {"leading_dense_block_count", 1},
                         {"expert_count", 8},          {"expert_used_count", 3},    {"expert_feed_forward_length", 28},
                         {"expert_shared_count", 1},   {"expert_gating_func", 2},   {"expert_weights_norm", true},
                         {"expert_weights_scale", 1.5}};
  return {
      {"olmo3", "olmo2", joined(joined(joined(usual, yarn), slides), {{"attention.head_count_kv", 3}}), true},
      {"olmoe", "olmoe", joined(joined(usual, experts), {{"feed_forward_length", 28}})},
      {"seed_oss", "seed_oss", joined(wide, {{"attention.layer_norm_rms_epsilon", 1e-6}}), true},
      {"exaone4", "exaone4", joined(wide, slides), true},
      {"arcee", "arcee", joined(wide, yarn), false, true},
      {"ministral3", "mistral3", joined(joined(wide, yarn), growing), false, true},
      {"qwen3_vl", "qwen3vl",
       joined(wide, {{"rope.freq_base", 5000.0},
                     {"rope.dimension_sections", {2, 2, 1, 0}},
                     {"n_deepstack_layers", 1},
                     {"attention.layer_norm_rms_epsilon", 1e-6}})},
      {"glm4_moe", "glm4moe", joined(wide, sigmoids), true},
      {"glm4", "glm4",
       joined(
           wide,
           {{"rope.freq_base", 5000.0}, {"rope.dimension_count", 4}, {"attention.layer_norm_rms_epsilon", 1.5625e-7}})},
      {"ernie4_5", "ernie4_5", joined(wide, {{"rope.freq_base", 500000.0}})},
      {"ernie4_5_moe", "ernie4_5-moe",
       joined(joined(usual, experts), {{"rope.freq_base", 500000.0},
                                       {"interleave_moe_layer_step", 2},
                                       {"leading_dense_block_count", 1},
                                       {"expert_feed_forward_length", 28},
                                       {"expert_shared_count", 2},
                                       {"expert_shared_feed_forward_length", 56}})},
      {"cohere", "command-r", joined(joined(usual, layer_norm), {{"rope.freq_base", 500000.0}, {"logit_scale", 0.25}})},
      {"cohere2", "cohere2",
       joined(joined(usual, layer_norm), joined(slides, {{"logit_scale", 0.25}, {"rope.scaling.type", "none"}}))},
      {"starcoder2", "starcoder2", joined(usual, layer_norm)},
      {"stablelm", "stablelm",
       joined(joined(usual, layer_norm),
              {{"rope.freq_base", 5000.0}, {"rope.dimension_count", 4}, {"use_parallel_residual", true}})},
      {"minimax_m2", "minimax-m2",
       joined(joined(wide, experts), {{"feed_forward_length", 28},
                                      {"expert_feed_forward_length", 28},
                                      {"rope.freq_base", 5000.0},
                                      {"rope.dimension_count", 4},
                                      {"expert_gating_func", 2},
                                      {"attention.layer_norm_rms_epsilon", 1e-6}})},
      {"dots1", "dots1",
       joined(joined(usual, sigmoids), {{"attention.head_count_kv", 6},
                                        {"rope.dimension_count", nullptr},
                                        {"expert_shared_count", 2},
                                        {"attention.layer_norm_rms_epsilon", 1e-6}})},
      {"hunyuan_v1_dense", "hunyuan-dense",
       joined(wide, {{"rope.freq_base", 5000.0 * std::pow(20.0, 10.0 / 8.0)},
                     {"rope.scaling.type", "none"},
                     {"rope.scaling.factor", 1.0}})},
      {"hunyuan_v1_moe", "hunyuan-moe",
       joined(joined(wide, experts), {{"feed_forward_length", 36},
                                      {"expert_feed_forward_length", 36},
                                      {"expert_shared_feed_forward_length", 36},
                                      {"expert_shared_count", 1}})},
      {"phi", "phi2", joined(joined(usual, layer_norm), {{"rope.freq_base", 5000.0}, {"rope.dimension_count", 4}})},
      {"gpt_neox", "gptneox",
       joined(joined(usual, layer_norm), {{"attention.head_count_kv", nullptr},
                                          {"rope.freq_base", 5000.0},
                                          {"rope.dimension_count", 4},
                                          {"use_parallel_residual", true}}),
       false, false, 6},
      {"falcon", "falcon", joined(usual, layer_norm), false, false, 2},
      {"internlm2", "internlm2", joined(usual, {{"attention.layer_norm_rms_epsilon", 1e-6}}), false, true, 2},
      {"gpt2", "gpt2",
       joined(joined(usual, layer_norm),
              {{"attention.head_count_kv", nullptr}, {"rope.freq_base", nullptr}, {"context_length", 128}}),
       false, false, 0, true},
      {"apertus", "apertus", joined(usual, {{"rope.freq_base", 5000.0}})},
      {"cohere_plus", "command-r",
       joined(joined(usual, layer_norm), {{"rope.freq_base", 500000.0}, {"logit_scale", 0.25}})},
      {"stablelm_12b", "stablelm",
       joined(joined(usual, layer_norm),
              {{"rope.freq_base", 5000.0}, {"rope.dimension_count", 4}, {"use_parallel_residual", true}})},
      {"smallthinker", "smallthinker",
       joined(joined(wide, experts), {{"attention.sliding_window", 9},
                                      {"rope.freq_base", 5000.0},
                                      {"feed_forward_length", 28},
                                      {"expert_feed_forward_length", 28},
                                      {"expert_gating_func", 2},
                                      {"attention.layer_norm_rms_epsilon", 1e-6}})},
      {"bailing_moe", "bailingmoe2",
       joined(joined(wide, sigmoids), {{"expert_group_count", 4},
                                       {"expert_group_used_count", 2},
                                       {"rope.freq_base", 8000000.0},
                                       {"expert_shared_feed_forward_length", 28},
                                       {"attention.layer_norm_rms_epsilon", 1e-6}})},
      {"mistral4", "mistral4",
       joined(joined(joined(wide, yarn), joined(sigmoids, growing)), {{"attention.head_count_kv", 1},
                                                                      {"attention.key_length", 26},
                                                                      {"attention.value_length", 22},
                                                                      {"attention.key_length_mla", 10},
                                                                      {"attention.value_length_mla", 14},
                                                                      {"attention.q_lora_rank", 30},
                                                                      {"attention.kv_lora_rank", 22},
                                                                      {"rope.scaling.yarn_log_multiplier", 0.1},
                                                                      {"expert_gating_func", nullptr},
                                                                      {"attention.layer_norm_rms_epsilon", 1e-6}})}};
}

// Queries of all heads, then keys, then values, of `heads` in `groups`, each of which has the three in turn.
std::string WithGroupsApart(const std::string& bytes, size_t heads, size_t groups) {
  const size_t queries = heads / groups, head = bytes.size() / (heads + 2 * groups), group = (queries + 2) * head;
  std::string apart;
  for (size_t i = 0; i < groups; ++i) apart += bytes.substr(i * group, queries * head);
  for (size_t part = queries; part < queries + 2; ++part) {
    for (size_t i = 0; i < groups; ++i) apart += bytes.substr(i * group + part * head, head);
  }
  return apart;
}

// The bytes of a matrix of floats, transposed.
std::string Transposed(const std::string& bytes, size_t rows) {
  const size_t row_bytes = bytes.size() / rows;
  std::string turned;
  for (size_t col = 0; col < row_bytes; col += sizeof(float)) {
    for (size_t row = 0; row < rows; ++row) turned += bytes.substr(row * row_bytes + col, sizeof(float));
  }
  return turned;
}

// Adds stacked experts whose matrices are transposed: gates and the others side by side, or the last ones.
void AddTurnedExperts(const std::string& name, const NewTensor& tensor, std::vector<NewGgufTensor>& converted) {
  const size_t experts = tensor.shape[0], rows = tensor.shape[1], bytes = tensor.bytes.size() / experts;
  const std::string blocks = GgufName(name.substr(0, name.find("feed_forward.")), false);
  const bool is_last = name.ends_with("down_proj");
  std::string parts[2];
  for (size_t e = 0; e < experts; ++e) {
    const std::string turned = Transposed(tensor.bytes.substr(e * bytes, bytes), rows);
    parts[0] += is_last ? turned : turned.substr(0, bytes / 2);
    parts[1] += turned.substr(bytes / 2);
  }
  const uint64_t cols = is_last ? tensor.shape[2] : tensor.shape[2] / 2;
  if (is_last) return converted.push_back({blocks + "ffn_down_exps.weight", 0, {experts, cols, rows}, parts[0]});
  converted.push_back({blocks + "ffn_gate_exps.weight", 0, {experts, cols, rows}, parts[0]});
  converted.push_back({blocks + "ffn_up_exps.weight", 0, {experts, cols, rows}, parts[1]});
}

// Adds the factors of one head to those of all.
void AddHeadFactors(const std::string& name, const NewTensor& tensor, std::vector<NewGgufTensor>& converted) {
  const std::string stacked = name.substr(0, name.find("_layernorm.norms.")) + "_norm.weight";
  NewGgufTensor& last = converted.back();
  if (last.name != stacked) return converted.push_back({stacked, 0, {1, tensor.shape[0]}, tensor.bytes});
  ++last.shape[0];
  last.bytes += tensor.bytes;
}

// Adds the gates and the others of stacked experts, whose matrices are one above the other.
void AddHalves(const std::string& layer, const NewTensor& tensor, std::vector<NewGgufTensor>& converted) {
  const size_t experts = tensor.shape[0], half = tensor.bytes.size() / experts / 2;
  const std::string blocks = GgufName(layer, false);
  for (size_t i = 0; i < 2; ++i) {
    std::string bytes;
    for (size_t e = 0; e < experts; ++e) bytes += tensor.bytes.substr((2 * e + i) * half, half);
    converted.push_back({blocks + (i == 0 ? "ffn_gate_exps.weight" : "ffn_up_exps.weight"),
                         0,
                         {experts, tensor.shape[1] / 2, tensor.shape[2]},
                         bytes});
  }
}

// The converter's tensors of a checkpoint. An encoder of images is a file of its own.
std::vector<NewGgufTensor> ConvertedTensors(const Family& family) {
  const std::pair<const char*, const char*> parts[] = {{"model.language_model.", "model."},
                                                       {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
                                                       {"mlp.moe_statics.e_score_correction_bias", "exp_probs_b.bias"},
                                                       {"block_sparse_moe.e_score_correction_bias", "exp_probs_b.bias"},
                                                       {"mlp.gate.wg.", "ffn_gate_inp."},
                                                       {"mlp.shared_mlp.gate_proj.", "ffn_gate_shexp."},
                                                       {"mlp.shared_mlp.up_proj.", "ffn_up_shexp."},
                                                       {"mlp.shared_mlp.down_proj.", "ffn_down_shexp."},
                                                       {"post_self_attn_layernorm.", "post_attention_norm."},
                                                       {"post_mlp_layernorm.", "post_ffw_norm."},
                                                       {"self_attn.query_layernorm.", "attn_q_norm."},
                                                       {"self_attn.key_layernorm.", "attn_k_norm."},
                                                       {"gpt_neox.embed_in.", "token_embd."},
                                                       {"gpt_neox.final_layer_norm.", "output_norm."},
                                                       {"gpt_neox.layers.", "model.layers."},
                                                       {"embed_out.", "output."},
                                                       {"transformer.word_embeddings.", "token_embd."},
                                                       {"transformer.wte.", "token_embd."},
                                                       {"transformer.wpe.", "position_embd."},
                                                       {"attn.c_attn.", "attn_qkv."},
                                                       {"attn.c_proj.", "attn_output."},
                                                       {"ln_1.", "attn_norm."},
                                                       {"ln_2.", "ffn_norm."},
                                                       {".attention_layernorm.", ".attn_norm."},
                                                       {".feedforward_layernorm.", ".ffn_norm."},
                                                       {"self_attn.q_layernorm.", "attn_q_layernorm."},
                                                       {"self_attn.k_layernorm.", "attn_k_layernorm."},
                                                       {"transformer.ln_f.", "output_norm."},
                                                       {"model.tok_embeddings.", "token_embd."},
                                                       {"attention.wqkv.", "attn_qkv."},
                                                       {"attention.wo.", "attn_output."},
                                                       {".attention_norm.", ".attn_norm."},
                                                       {"feed_forward.w1.", "ffn_gate."},
                                                       {"feed_forward.w3.", "ffn_up."},
                                                       {"feed_forward.w2.", "ffn_down."},
                                                       {"transformer.h.", "model.layers."},
                                                       {"self_attention.query_key_value.", "attn_qkv."},
                                                       {"self_attention.dense.", "attn_output."},
                                                       {"ln_attn.", "attn_norm_2."},
                                                       {"ln_mlp.", "attn_norm."},
                                                       {"model.word_embeddings.", "token_embd."},
                                                       {"attention.query_layernorm.", "attn_q_norm."},
                                                       {"attention.key_layernorm.", "attn_k_norm."},
                                                       {"mlp.gate.expert_bias", "exp_probs_b.bias"},
                                                       {"attention.query_key_value.", "attn_qkv."},
                                                       {"attention.dense.", "attn_output."},
                                                       {"mlp.dense_h_to_4h.", "ffn_up."},
                                                       {"mlp.dense_4h_to_h.", "ffn_down."},
                                                       {"model.final_layernorm.", "output_norm."},
                                                       {"self_attn.dense.", "attn_output."},
                                                       {"mlp.fc1.", "ffn_up."},
                                                       {"mlp.fc2.", "ffn_down."},
                                                       {"self_attn.q_a_proj.", "attn_q_a."},
                                                       {"self_attn.q_a_layernorm.", "attn_q_a_norm."},
                                                       {"self_attn.q_b_proj.", "attn_q_b."},
                                                       {"self_attn.kv_a_proj_with_mqa.", "attn_kv_a_mqa."},
                                                       {"self_attn.kv_a_layernorm.", "attn_kv_a_norm."},
                                                       {"self_attn.kv_b_proj.", "attn_kv_b."},
                                                       {"mlp.experts.down_proj", "ffn_down_exps.weight"},
                                                       {"block_sparse_moe.primary_router.", "ffn_gate_inp."},
                                                       {"self_attn.attn_sub_norm.", "attn_sub_norm."},
                                                       {"mlp.ffn_sub_norm.", "ffn_sub_norm."},
                                                       {"feed_forward.router.", "ffn_gate_inp."},
                                                       {"feed_forward.shared_expert.gate_proj.", "ffn_gate_shexp."},
                                                       {"feed_forward.shared_expert.up_proj.", "ffn_up_shexp."},
                                                       {"feed_forward.shared_expert.down_proj.", "ffn_down_shexp."},
                                                       {"feed_forward.gate_proj.", "ffn_gate."},
                                                       {"feed_forward.up_proj.", "ffn_up."},
                                                       {"feed_forward.down_proj.", "ffn_down."},
                                                       {"mlp.c_fc.", "ffn_up."},
                                                       {"mlp.c_proj.", "ffn_down."},
                                                       {"mlp.shared_experts.gate_proj.", "ffn_gate_shexp."},
                                                       {"mlp.shared_experts.up_proj.", "ffn_up_shexp."},
                                                       {"mlp.shared_experts.down_proj.", "ffn_down_shexp."}};
  constexpr size_t kHeadDim = 10;
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath(family.folder + "/model.safetensors")).Tensors()) {
    std::string name = tensor.name, bytes = tensor.bytes;
    if (name.starts_with("model.visual.") || name.find(".act_fn.") != std::string::npos) continue;
    for (const auto& [from, to] : parts) {
      if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, std::string(from).size(), to);
    }
    const bool is_turned = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
    if (family.has_rope_pairs && is_turned) bytes = WithPairsAdjacent(bytes, tensor.shape[0], kHeadDim);
    if (name.ends_with("mlp.experts.gate_up_proj")) {
      AddHalves(name.substr(0, name.size() - 24), tensor, converted);
      continue;
    }
    if (name.find("feed_forward.experts.") != std::string::npos) {
      AddTurnedExperts(name, tensor, converted);
      continue;
    }
    if (name.find("_layernorm.norms.") != std::string::npos) {
      AddHeadFactors(GgufName(name, false), tensor, converted);
      continue;
    }
    std::vector<uint64_t> shape = tensor.shape;
    if (family.as_columns && shape.size() == 2 && name.starts_with("model.layers.")) {
      bytes = Transposed(bytes, shape[0]);
      std::swap(shape[0], shape[1]);
    }
    const bool is_joined = family.groups > 0 && name.find("attn_qkv.") != std::string::npos;
    if (is_joined) bytes = WithGroupsApart(bytes, tensor.shape[0] / kHeadDim - 2 * family.groups, family.groups);
    if (is_joined && family.has_rope_pairs) {
      const size_t turned = tensor.shape[0] - family.groups * kHeadDim, end = bytes.size() / tensor.shape[0] * turned;
      bytes = WithPairsAdjacent(bytes.substr(0, end), turned, kHeadDim) + bytes.substr(end);
    }
    AddConverted({GgufName(name, family.has_post_norm_names), 0, std::move(shape), bytes}, converted);
  }
  return converted;
}

json MetadataOf(const Family& family) {
  json metadata = {{"general.architecture", family.architecture}};
  const json common = {{"block_count", 4}, {"attention.layer_norm_rms_epsilon", 1e-5}, {"rope.freq_base", 10000.0}};
  for (const json* values : {&common, &family.more}) {
    for (const auto& [name, value] : values->items()) metadata[family.architecture + "." + name] = value;
  }
  // Parameters of each layer that are numbers are metadata.
  for (const NewTensor& tensor : RawFile(GoldenPath(family.folder + "/model.safetensors")).Tensors()) {
    const size_t at = tensor.name.find(".act_fn.");
    if (at == std::string::npos) continue;
    float value;
    std::memcpy(&value, tensor.bytes.data(), sizeof(value));
    metadata["xielu." + tensor.name.substr(at + 8)].push_back(value);
  }
  for (const auto& [name, value] : family.more.items()) {
    if (value.is_null()) metadata.erase(family.architecture + "." + name);
  }
  return metadata;
}

std::string ImageOf(const Family& family) {
  return GgufImage(GgufValuesOf(MetadataOf(family)), ConvertedTensors(family));
}

TEST_CASE("GGUF files of families without a Config give the recorded answers") {
  for (const Family& family : Families()) {
    CAPTURE(family.folder);
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, Kept(family.folder, ImageOf(family)));
    const auto model = LoadAnyModel(path, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    const ReferenceTensors reference(GoldenPath(family.folder + "/golden.safetensors"));
    for (size_t row = 0; row < 2; ++row) {
      CheckRows(*model, reference.Tokens("input_ids", row), Want::kLogits, reference.Floats("logits", row), kExact,
                2.0f);  // as in tests/golden
    }
  }
}

// Families whose GGUF files leave out what config.json says, by another config.json over the same weights.
TEST_CASE("GGUF files that imply what a config.json says give the answers of the folder") {
  const json common = {{"attention.head_count", 6},
                       {"attention.head_count_kv", 2},
                       {"rope.freq_base", 500000.0},
                       {"feed_forward_length", 76}};
  json llama4 = {{"embedding_length", 48},        {"attention.key_length", 10},
                 {"attention.value_length", 10},  {"expert_count", 5},
                 {"expert_used_count", 1},        {"expert_feed_forward_length", 28},
                 {"interleave_moe_layer_step", 2}};
  json bitnet = {{"embedding_length", 60}, {"rope.scaling.type", "linear"}, {"rope.scaling.factor", 1.0}};
  json phimoe = {{"embedding_length", 60}, {"expert_count", 7}, {"expert_used_count", 2}};
  for (json* more : {&llama4, &bitnet, &phimoe}) more->update(common);
  phimoe.update({{"feed_forward_length", 28}, {"rope.freq_base", 1000000.0}});
  const std::pair<Family, json> cases[] = {{{"bitnet", "bitnet", bitnet}, {{"hidden_act", "silu"}}},
                                           {{"phimoe", "phimoe", phimoe}, {{"router_jitter_noise", 0.01}}},
                                           {{"llama4", "llama4", llama4},
                                            {{"attention_chunk_size", 8192},
                                             {"floor_scale", 8192},
                                             {"attn_scale", 0.1},
                                             {"no_rope_layers", json::array()}}}};
  for (const auto& [family, changes] : cases) {
    CAPTURE(family.folder);
    const TemporaryFolder folder;
    WriteFile(folder.path() / "model.gguf", ImageOf(family));
    const auto from_gguf = LoadAnyModel(folder.path() / "model.gguf", {.dtype = DType::kF32});
    REQUIRE_MESSAGE(from_gguf.has_value(), from_gguf.error().message);
    json config = json::parse(*ReadSmallFile(GoldenPath(family.folder + "/config.json"), 1 << 20));
    config.update(changes);
    WriteFile(folder.path() / "config.json", config.dump());
    std::filesystem::copy(GoldenPath(family.folder + "/model.safetensors"), folder.path());
    const auto from_folder = LoadAnyModel(folder.path(), {.dtype = DType::kF32});
    REQUIRE_MESSAGE(from_folder.has_value(), from_folder.error().message);
    CHECK(from_gguf->spec() == from_folder->spec());
    const ReferenceTensors reference(GoldenPath(family.folder + "/golden.safetensors"));
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", 0);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    KVCache cache = *CreateKVCache(from_folder->layout(), kExact);
    CheckRows(*from_gguf, prompt, Want::kLogits, *from_folder->Forward(cache, prompt, workspace));
  }
}

}  // namespace attention_gguf_test
}  // namespace skald::testing
