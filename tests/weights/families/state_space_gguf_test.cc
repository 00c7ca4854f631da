// SPDX-License-Identifier: Apache-2.0
//
// Mamba, Falcon Mamba, Mamba-2, Jamba, Kimi Linear, MiniMax-01, PLaMo 2 and RWKV-6 as llama.cpp's converters write
// them: the same weights to the bit, and the same model, as from safetensors.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "tests/support/check_error.h"
#include "tests/support/compare_logits.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_configs.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/families/check_arrives.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace state_space_gguf_test {

using nlohmann::json;

// The converter's name for a tensor of the checkpoint; experts get the name of their stack.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"backbone.embeddings.", "token_embd."},
                            {"backbone.norm_f.", "output_norm."},
                            {"backbone.layers.", "blk."},
                            {"model.norm.", "output_norm."},
                            {"model.layers.layers.", "model.layers."},
                            {"self_attn.norm.", "attn_norm_2."},
                            {"self_attn.out_proj.", "attn_output."},
                            {"self_attn.output_gate.", "attn_gate."},
                            {"pre_mixer_norm.", "attn_norm."},
                            {"post_mixer_norm.weight", "post_attention_norm"},
                            {"pre_mlp_norm.", "ffn_norm."},
                            {"post_mlp_norm.weight", "post_ffw_norm"},
                            {"mixer.qkv_proj.", "attn_qkv."},
                            {"mixer.q_weight", "attn_q_norm.weight"},
                            {"mixer.k_weight", "attn_k_norm.weight"},
                            {"mixer.o_proj.", "attn_output."},
                            {"mixer.bcdt_proj.", "ssm_x."},
                            {"mixer.B_norm_weight", "ssm_b_norm"},
                            {"mixer.C_norm_weight", "ssm_c_norm"},
                            {"mixer.dt_norm_weight", "ssm_dt_norm"},
                            {".norm.", ".attn_norm."},
                            {".mamba.", ".mixer."},
                            {"mixer.attn_norm.", "ssm_norm."},
                            {"mixer.in_proj.", "ssm_in."},
                            {"mixer.conv1d.", "ssm_conv1d."},
                            {"mixer.x_proj.", "ssm_x."},
                            {"mixer.dt_proj.", "ssm_dt."},
                            {"mixer.dt_bias", "ssm_dt.bias"},
                            {"mixer.dt_layernorm.", "ssm_dt_norm."},
                            {"mixer.b_layernorm.", "ssm_b_norm."},
                            {"mixer.c_layernorm.", "ssm_c_norm."},
                            {"mixer.A_log", "ssm_a"},
                            {"mixer.D", "ssm_d"},
                            {"mixer.out_proj.", "ssm_out."},
                            {"model.final_layernorm.", "output_norm."},
                            {"pre_ff_layernorm.", "ffn_norm."},
                            {"feed_forward.router.", "ffn_gate_inp."},
                            {"feed_forward.experts.", "block_sparse_moe.experts."},
                            {"feed_forward.", "mlp."},
                            {"block_sparse_moe.gate.e_score_correction_bias", "exp_probs_b.bias"},
                            {"block_sparse_moe.shared_experts.gate_proj.", "ffn_gate_shexp."},
                            {"block_sparse_moe.shared_experts.up_proj.", "ffn_up_shexp."},
                            {"block_sparse_moe.shared_experts.down_proj.", "ffn_down_shexp."},
                            {"block_sparse_moe.gate_proj.", "ffn_gate."},
                            {"block_sparse_moe.up_proj.", "ffn_up."},
                            {"block_sparse_moe.down_proj.", "ffn_down."},
                            {"self_attn.q_conv1d.", "ssm_conv1d_q."},
                            {"self_attn.k_conv1d.", "ssm_conv1d_k."},
                            {"self_attn.v_conv1d.", "ssm_conv1d_v."},
                            {"self_attn.f_a_proj.", "ssm_f_a."},
                            {"self_attn.f_b_proj.", "ssm_f_b."},
                            {"self_attn.g_a_proj.", "ssm_g_a."},
                            {"self_attn.g_b_proj.", "ssm_g_b."},
                            {"self_attn.b_proj.", "ssm_beta."},
                            {"self_attn.A_log", "ssm_a"},
                            {"self_attn.dt_bias", "ssm_dt.bias"},
                            {"self_attn.o_norm.", "ssm_norm."},
                            {"self_attn.kv_a_proj_with_mqa.", "attn_kv_a_mqa."},
                            {"self_attn.kv_a_layernorm.", "attn_kv_a_norm."},
                            {"self_attn.kv_b_proj.", "attn_kv_b."}};
  name = Renamed(name, parts);
  return GgufName(name, /*has_post_norms=*/false);
}

// Axes of 1 lie elsewhere in files of the converter.
std::vector<uint64_t> ConvertedShape(const NewTensor& tensor, uint64_t groups) {
  const std::vector<uint64_t>& shape = tensor.shape;
  const bool is_kimi = tensor.name.find("self_attn.") != std::string::npos;
  if (tensor.name.find("conv1d.weight") != std::string::npos) {
    return is_kimi ? std::vector<uint64_t>{1, shape[0], 1, shape[2]} : std::vector<uint64_t>{shape[0], shape[2]};
  }
  if (groups == 0) return shape;
  if (tensor.name.ends_with("mixer.A_log") || tensor.name.ends_with("mixer.D")) return {shape[0], 1};
  if (tensor.name.ends_with("mixer.norm.weight")) return {groups, shape[0] / groups};
  return shape;
}

// The converter adds this to a norm of PLaMo 2.
float OffsetOf(const std::string& name) {
  const std::pair<const char*, float> offsets[] = {
      {"pre_mixer_norm", 1.0f}, {"post_mixer_norm", 0.2f}, {"pre_mlp_norm", 1.0f}, {"post_mlp_norm", 0.0894427191f}};
  for (const auto& [norm, offset] : offsets) {
    if (name.find(norm) != std::string::npos) return offset;
  }
  return name == "model.norm.weight" ? 1.0f : 0.0f;
}

// `groups` are those of heads in Mamba-2; 0 for others.
std::vector<NewGgufTensor> ConvertedTensors(const std::string& folder, uint64_t groups) {
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath(folder + "/model.safetensors")).Tensors()) {
    if (tensor.name.ends_with("slope_rate") || tensor.name.ends_with("_decay")) continue;
    std::string bytes = tensor.name.ends_with("A_log") ? WithDecays(tensor.bytes) : tensor.bytes;
    if (folder == "plamo2") {
      bytes = MappedFloats(bytes, [offset = OffsetOf(tensor.name)](float x) { return x + offset; });
    }
    AddConverted({Converted(tensor.name), 0, ConvertedShape(tensor, groups), bytes}, converted);
  }
  return converted;
}

GgufValues Metadata(const std::string& architecture, const json& more) {
  json metadata = {{"general.architecture", architecture}};
  for (const auto& [name, value] : more.items()) metadata[architecture + "." + name] = value;
  return GgufValuesOf(metadata);
}

// Returns the model_type.
std::string CheckArrivesAs(const ModelSpec& expected, const std::string& folder, const GgufValues& metadata,
                           const std::vector<NewGgufTensor>& tensors) {
  CAPTURE(folder);
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, Kept(folder, GgufImage(metadata, tensors)));
  const auto described = DescribeModel(path);
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  CHECK(described->spec == expected);
  const auto weights = LoadWeights(path, described->spec, "", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  // The tensors alone: config.json has another model_type.
  const auto checkpoint = Checkpoint::Open(GoldenPath(folder + "/model.safetensors"));
  REQUIRE(checkpoint);
  CHECK(SameWeights(*weights, *LoadWeights(*checkpoint, expected, {.dtype = DType::kF32})));
  return std::string(described->model_type);
}

void CheckArrives(const std::string& folder, const GgufValues& metadata, const std::vector<NewGgufTensor>& tensors) {
  testing::CheckArrives(folder, GgufImage(metadata, tensors));
}

void CheckArrives(const std::string& folder, const GgufValues& metadata, uint64_t groups = 0) {
  CheckArrives(folder, metadata, ConvertedTensors(folder, groups));
}

// Metadata of models without attention.
json Mixers(int layers, int width) {
  return {{"block_count", layers},     {"embedding_length", width}, {"feed_forward_length", 0},
          {"attention.head_count", 0}, {"context_length", 1 << 20}, {"attention.layer_norm_rms_epsilon", 1e-5f}};
}

json Joined(json values, const json& more) {
  values.update(more);
  return values;
}

json JambaMetadata() {
  return {{"block_count", 4},
          {"embedding_length", 60},
          {"feed_forward_length", 28},
          {"attention.head_count", 6},
          {"attention.head_count_kv", {0, 0, 2, 0}},
          {"attention.layer_norm_rms_epsilon", 1e-2f},
          {"ssm.conv_kernel", 4},
          {"ssm.inner_size", 120},
          {"ssm.state_size", 7},
          {"ssm.time_step_rank", 5},
          {"expert_count", 5},
          {"expert_used_count", 2}};
}

json KimiMetadata() {
  return {{"block_count", 4},
          {"embedding_length", 48},
          {"feed_forward_length", 76},
          {"attention.head_count", 6},
          {"attention.head_count_kv", {0, 1, 0, 0}},
          {"attention.layer_norm_rms_epsilon", 1e-5f},
          {"attention.kv_lora_rank", 22},
          {"attention.key_length", 26},
          {"attention.key_length_mla", 10},
          {"attention.value_length_mla", 14},
          {"rope.dimension_count", 4},
          {"rope.freq_base", 10000.0},
          {"kda.head_dim", 12},
          {"ssm.conv_kernel", 4},
          {"leading_dense_block_count", 1},
          {"expert_count", 8},
          {"expert_used_count", 3},
          {"expert_feed_forward_length", 28},
          {"expert_shared_count", 1},
          {"expert_gating_func", 2},
          {"expert_weights_scale", 1.5f}};
}

TEST_CASE("Mamba and Falcon Mamba arrive from GGUF as from safetensors") {
  const json sizes = {{"ssm.conv_kernel", 4}, {"ssm.inner_size", 88}, {"ssm.state_size", 7}, {"ssm.time_step_rank", 5}};
  CheckArrives("falcon_mamba", Metadata("mamba", Joined(Joined(Mixers(3, 44), sizes), {{"ssm.dt_b_c_rms", true}})));
  const ShortForm mamba = ShortFormOf<GoldenMamba>();
  CheckArrives("mamba", Metadata("mamba", Joined(Mixers(static_cast<int>(mamba.layers.size()), mamba.model_dim),
                                                 {{"ssm.conv_kernel", mamba.mamba.conv_width},
                                                  {"ssm.inner_size", mamba.mamba.inner_dim},
                                                  {"ssm.state_size", mamba.mamba.state_dim},
                                                  {"ssm.time_step_rank", mamba.mamba.time_step_rank},
                                                  {"ssm.dt_b_c_rms", false}})));
}

TEST_CASE("Mamba-2 arrives from GGUF as from safetensors") {
  const ShortForm form = ShortFormOf<GoldenMamba2>();
  const Mamba2& mamba = form.mamba2;
  const json sizes = {{"ssm.conv_kernel", mamba.conv_width},
                      {"ssm.inner_size", mamba.heads * mamba.head_dim},
                      {"ssm.state_size", mamba.state_dim},
                      {"ssm.time_step_rank", mamba.heads},
                      {"ssm.group_count", mamba.groups}};
  CheckArrives("mamba2",
               Metadata("mamba2", Joined(Mixers(static_cast<int>(form.layers.size()), form.model_dim), sizes)),
               static_cast<uint64_t>(mamba.groups));
}

TEST_CASE("Jamba arrives from GGUF as from safetensors, and its layers are those that its tensors tell of") {
  CheckArrives("jamba", Metadata("jamba", JambaMetadata()));
  const auto check = [](const json& changes, ErrorCode code, const std::string& sentence) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(Metadata("jamba", Joined(JambaMetadata(), changes)), ConvertedTensors("jamba", 0)));
    CheckError(DescribeModel(path), code, path.string() + ": metadata: " + sentence);
  };
  check({{"attention.head_count_kv", {0, 0, 2}}}, ErrorCode::kDataLoss,
        "jamba.attention.head_count_kv must be an array of block_count whole numbers, but is an array of 3");
  check({{"expert_used_count", 6}}, ErrorCode::kDataLoss,
        "jamba.expert_used_count must be a whole number from 1 to 5, but is 6");
}

TEST_CASE("Kimi Linear arrives from GGUF as from safetensors") {
  CheckArrives("kimi_linear", Metadata("kimi-linear", KimiMetadata()));
}

TEST_CASE("MiniMax-01 arrives from GGUF as from safetensors") {
  const json sizes = {{"block_count", 2},
                      {"embedding_length", 48},
                      {"feed_forward_length", 28},
                      {"attention.head_count", 4},
                      {"attention.head_count_kv", 2},
                      {"attention.key_length", 10},
                      {"attention.value_length", 10},
                      {"attention.layer_norm_rms_epsilon", 1e-5f},
                      {"rope.freq_base", 5000.0},
                      {"rope.dimension_count", 10},
                      {"residual_scale", 1.5},
                      {"expert_count", 5},
                      {"expert_used_count", 2}};
  const auto expected = DescribeModel(GoldenPath("minimax_m1"));
  REQUIRE(expected);
  for (const json& layers :
       {json{{"full_attention_interval", 2}}, json{{"attention.recurrent_layers", {true, false}}}}) {
    CHECK(CheckArrivesAs(expected->spec, "minimax_m1", Metadata("minimax-01", Joined(sizes, layers)),
                         ConvertedTensors("minimax_m1", 0)) == "minimax");
  }
}

TEST_CASE("PLaMo 2 arrives from GGUF as from safetensors") {
  const json sizes = {{"block_count", 4},
                      {"embedding_length", 48},
                      {"feed_forward_length", 76},
                      {"attention.head_count", {0, 6, 0, 6}},
                      {"attention.head_count_kv", {0, 2, 0, 2}},
                      {"attention.key_length", 10},
                      {"attention.value_length", 10},
                      {"attention.layer_norm_rms_epsilon", 1e-6f},
                      {"rope.freq_base", 10000.0},
                      {"ssm.conv_kernel", 4},
                      {"ssm.inner_size", 50},
                      {"ssm.state_size", 7},
                      {"ssm.time_step_rank", 5},
                      {"ssm.group_count", 0}};
  CheckArrives("plamo2", Metadata("plamo2", sizes));
}

// Floats [rows, cols], the matrices of `count` one after the other, as columns.
std::string Turned(const std::string& bytes, size_t count, size_t rows, size_t cols) {
  std::string turned;
  for (size_t matrix = 0; matrix < count; ++matrix) {
    for (size_t i = 0; i < rows * cols; ++i) {
      const size_t at = matrix * rows * cols + i % rows * cols + i / rows;
      turned += bytes.substr(at * sizeof(float), sizeof(float));
    }
  }
  return turned;
}

// The converter's tensors of RWKV-6; what layers give is halved for each `rescale` layers in front of them.
std::vector<NewGgufTensor> Rwkv6Tensors(uint64_t rescale) {
  const NamePart parts[] = {{"rwkv.embeddings.", "token_embd."},
                            {"rwkv.ln_out.", "output_norm."},
                            {"head.", "output."},
                            {"rwkv.blocks.0.pre_ln.", "token_embd_norm."},
                            {"rwkv.blocks.", "blk."},
                            {".ln1.", ".attn_norm."},
                            {".ln2.", ".attn_norm_2."},
                            {"attention.time_maa_x", "time_mix_lerp_x.weight"},
                            {"attention.time_maa_w1", "time_mix_w1.weight"},
                            {"attention.time_maa_w2", "time_mix_w2.weight"},
                            {"attention.time_decay_w1", "time_mix_decay_w1.weight"},
                            {"attention.time_decay_w2", "time_mix_decay_w2.weight"},
                            {"attention.time_decay", "time_mix_decay.weight"},
                            {"attention.time_faaaa", "time_mix_first.weight"},
                            {"attention.ln_x.", "time_mix_ln."},
                            {"attention.", "time_mix_"},
                            {"feed_forward.time_maa_k", "channel_mix_lerp_k.weight"},
                            {"feed_forward.time_maa_r", "channel_mix_lerp_r.weight"},
                            {"feed_forward.", "channel_mix_"}};
  std::vector<NewGgufTensor> converted;
  std::map<std::string, std::map<char, std::string>> mixes;  // of each layer
  for (const NewTensor& tensor : RawFile(GoldenPath("rwkv6/model.safetensors")).Tensors()) {
    std::string name = tensor.name, bytes = tensor.bytes;
    name = Renamed(name, parts);
    if (const size_t mix = name.find("time_mix_time_maa_"); mix != std::string::npos) {
      mixes[name.substr(0, mix)][name.back()] = bytes;
      continue;
    }
    std::vector<uint64_t> shape = tensor.shape;
    if (shape.size() == 3 && shape[0] == 1) shape = {shape[2]};
    if (name.ends_with("_w1.weight") || name.ends_with("_w2.weight")) {
      const size_t last = shape.size() - 1, rows = shape[last - 1], cols = shape[last];
      bytes = Turned(bytes, last == 2 ? shape[0] : 1, rows, cols);
      std::swap(shape[last - 1], shape[last]);
    }
    if (name.ends_with("time_mix_output.weight") || name.ends_with("channel_mix_value.weight")) {
      const uint64_t layer = static_cast<uint64_t>(name[4] - '0');
      for (uint64_t i = 0; rescale > 0 && i < layer / rescale; ++i) {
        bytes = MappedFloats(bytes, [](float x) { return x / 2.0f; });
      }
    }
    converted.push_back({name, 0, shape, bytes});
  }
  for (const auto& [layer, of_layer] : mixes) {
    std::string bytes;
    for (const char mix : {'w', 'k', 'v', 'r', 'g'}) bytes += of_layer.at(mix);
    converted.push_back({layer + "time_mix_lerp_fused.weight", 0, {5, 1, 1, bytes.size() / sizeof(float) / 5}, bytes});
  }
  return converted;
}

GgufValues Rwkv6Metadata(int rescale) {
  return Metadata("rwkv6", {{"block_count", 3},
                            {"embedding_length", 48},
                            {"feed_forward_length", 160},
                            {"attention.head_count", 0},
                            {"attention.layer_norm_epsilon", 1e-5f},
                            {"rescale_every_n_layers", rescale},
                            {"wkv.head_size", 12},
                            {"time_mix_extra_dim", 32},
                            {"time_decay_extra_dim", 64},
                            {"context_length", 1048576}});
}

TEST_CASE("RWKV-6 arrives from GGUF as from safetensors") {
  CheckArrives("rwkv6", Rwkv6Metadata(0), Rwkv6Tensors(0));
  CheckArrives("rwkv6", Rwkv6Metadata(6), Rwkv6Tensors(6));
}

TEST_CASE("what layers of RWKV-6 give that converters have halved is doubled") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, Kept("rwkv6", GgufImage(Rwkv6Metadata(1), Rwkv6Tensors(1))));
  const auto model = LoadAnyModel(path, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  const ReferenceTensors reference(GoldenPath("rwkv6/golden.safetensors"));
  CheckRows(*model, reference.Tokens("input_ids", 0), Want::kLogits, reference.Floats("logits", 0));
}

}  // namespace state_space_gguf_test
}  // namespace skald::testing
