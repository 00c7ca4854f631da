// SPDX-License-Identifier: Apache-2.0
//
// Nemotron-H as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/load_any.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/families/check_arrives.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace nemotron_h_gguf_test {

// The converter's name for a tensor of the checkpoint; experts get the name of their stack.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"backbone.embeddings.", "token_embd."},
                            {"backbone.norm_f.", "output_norm."},
                            {"lm_head.", "output."},
                            {"mixer.in_proj.", "ssm_in."},
                            {"mixer.conv1d.", "ssm_conv1d."},
                            {"mixer.dt_bias", "ssm_dt.bias"},
                            {"mixer.A_log", "ssm_a"},
                            {"mixer.D", "ssm_d"},
                            {"mixer.norm.", "ssm_norm."},
                            {"mixer.out_proj.", "ssm_out."},
                            {"mixer.q_proj.", "attn_q."},
                            {"mixer.k_proj.", "attn_k."},
                            {"mixer.v_proj.", "attn_v."},
                            {"mixer.o_proj.", "attn_output."},
                            {"mixer.gate.e_score_correction_bias", "exp_probs_b.bias"},
                            {"mixer.gate.", "ffn_gate_inp."},
                            {"mixer.fc1_latent_proj.", "ffn_latent_down."},
                            {"mixer.fc2_latent_proj.", "ffn_latent_up."},
                            {"mixer.shared_experts.up_proj.", "ffn_up_shexp."},
                            {"mixer.shared_experts.down_proj.", "ffn_down_shexp."},
                            {"mixer.experts.", "block_sparse_moe.experts."},
                            {"mixer.up_proj.", "ffn_up."},
                            {"mixer.down_proj.", "ffn_down."},
                            {"mtp.layers.1.norm.", "blk.5.post_attention_norm."},
                            {"mtp.layers.1.final_layernorm.", "blk.5.nextn.shared_head_norm."},
                            {"mtp.layers.0.", "blk.5."},
                            {"mtp.layers.1.", "blk.5."},
                            {".eh_proj.", ".nextn.eh_proj."},
                            {".enorm.", ".nextn.enorm."},
                            {".hnorm.", ".nextn.hnorm."},
                            {".norm.", ".attn_norm."},
                            {"backbone.layers.", "blk."}};
  return Renamed(std::move(name), parts);
}

std::vector<NewGgufTensor> ConvertedTensors(const std::string& folder, const std::string& file = "model.safetensors") {
  constexpr uint64_t kGroups = 2;
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath(folder + "/" + file)).Tensors()) {
    const auto ends = [&](const char* end) { return tensor.name.ends_with(end); };
    std::vector<uint64_t> shape = tensor.shape;
    if (ends("conv1d.weight")) shape = {shape[0], shape[2]};
    if (ends("mixer.A_log") || ends("mixer.D")) shape = {shape[0], 1};
    if (ends("mixer.norm.weight")) shape = {kGroups, shape[0] / kGroups};
    AddConverted({Converted(tensor.name), 0, shape, ends("mixer.A_log") ? WithDecays(tensor.bytes) : tensor.bytes},
                 converted);
  }
  return converted;
}

GgufValues Metadata(const std::string& of, const std::vector<int32_t>& feed_forward, uint32_t predicting = 0) {
  std::vector<int32_t> kv_heads = {0, 0, 0, 2, 0};
  if (predicting > 0) kv_heads.push_back(2);
  return GgufValues()
      .String("general.architecture", of)
      .U32(of + ".block_count", 5 + predicting)
      .U32(of + ".nextn_predict_layers", predicting)
      .U32(of + ".embedding_length", 60)
      .U32(of + ".attention.head_count", 4)
      .Numbers(of + ".attention.head_count_kv", 5, kv_heads)
      .Numbers(of + ".feed_forward_length", 5, feed_forward)
      .U32(of + ".attention.key_length", 20)
      .U32(of + ".attention.value_length", 20)
      .U32(of + ".ssm.conv_kernel", 4)
      .U32(of + ".ssm.state_size", 12)
      .U32(of + ".ssm.group_count", 2)
      .U32(of + ".ssm.time_step_rank", 8)
      .U32(of + ".ssm.inner_size", 112)
      .F32(of + ".attention.layer_norm_rms_epsilon", 1e-5f);
}

GgufValues MoeMetadata(uint32_t groups = 1, uint32_t predicting = 0) {
  const std::string of = "nemotron_h_moe";
  std::vector<int32_t> widths = {0, 24, 0, 0, 24};
  if (predicting > 0) widths.push_back(24);
  return Metadata(of, widths, predicting)
      .U32(of + ".expert_count", 8)
      .U32(of + ".expert_used_count", 3)
      .U32(of + ".expert_feed_forward_length", 24)
      .U32(of + ".expert_shared_feed_forward_length", 36)
      .U32(of + ".expert_group_count", groups)
      .Bool(of + ".expert_weights_norm", true)
      .F32(of + ".expert_weights_scale", 2.5f);
}

GgufValues LatentMetadata() {
  const std::string of = "nemotron_h_moe";
  return GgufValuesOf({{"general.architecture", of},
                       {of + ".block_count", 5},
                       {of + ".embedding_length", 48},
                       {of + ".attention.head_count", 4},
                       {of + ".attention.head_count_kv", {0, 0, 0, 2, 0}},
                       {of + ".feed_forward_length", {0, 28, 0, 0, 28}},
                       {of + ".attention.key_length", 20},
                       {of + ".attention.value_length", 20},
                       {of + ".ssm.conv_kernel", 4},
                       {of + ".ssm.state_size", 12},
                       {of + ".ssm.group_count", 2},
                       {of + ".ssm.time_step_rank", 6},
                       {of + ".ssm.inner_size", 84},
                       {of + ".attention.layer_norm_rms_epsilon", 1e-5f},
                       {of + ".expert_count", 8},
                       {of + ".expert_used_count", 3},
                       {of + ".expert_feed_forward_length", 28},
                       {of + ".expert_shared_feed_forward_length", 36},
                       {of + ".expert_weights_scale", 1.5f},
                       {of + ".expert_weights_norm", true},
                       {of + ".moe_latent_size", 30}});
}

void CheckArrives(const std::string& folder, const GgufValues& metadata) {
  testing::CheckArrives(folder, GgufImage(metadata, ConvertedTensors(folder)));
}

TEST_CASE("Nemotron-H arrives from GGUF as from safetensors, with experts, also in a latent space, and without") {
  CheckArrives("nemotron_h", Metadata("nemotron_h", {0, 84, 0, 0, 84}));
  CheckArrives("nemotron_h_moe", MoeMetadata());
  CheckArrives("nemotron_h_latent", LatentMetadata());
}

TEST_CASE("a head of Nemotron 3 in the layer after the last computes what it should") {
  const std::string of = "nemotron_h_moe";
  std::vector<NewGgufTensor> tensors = ConvertedTensors(of);
  for (NewGgufTensor& tensor : ConvertedTensors(of, "mtp.safetensors")) tensors.push_back(std::move(tensor));
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(MoeMetadata(1, /*predicting=*/1), tensors));
  const OpenedModel opened = *OpenedModel::Open(path);
  const auto model = LoadAnyModel(opened, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model, model.error().message);
  CHECK(model->spec() == DescribeModel(GoldenPath(of))->spec);
  const auto head = LoadPredictionHead(opened, *model, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(head, head.error().message);
  CheckHead(*model, *head, of, "mtp.golden.safetensors");
}

TEST_CASE("layers of Nemotron-H that cannot be are refused with a sentence") {
  const auto check = [](const GgufValues& metadata, ErrorCode code, const std::string& sentence) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(metadata, ConvertedTensors("nemotron_h")));
    CheckError(DescribeModel(path), code, path.string() + ": metadata: " + sentence);
  };
  check(Metadata("nemotron_h", {0, 84, 0, 84}), ErrorCode::kDataLoss,
        "nemotron_h.feed_forward_length must be an array of block_count whole numbers, but is an array of 4");
  check(Metadata("nemotron_h", {0, 84, 0, 0, 85}), ErrorCode::kDataLoss,
        "nemotron_h.feed_forward_length must be whole numbers, the same but for those that are 0, but is 85");
  check(MoeMetadata(4), ErrorCode::kUnsupported, "nemotron_h_moe.expert_group_count is 4; Skald supports only 1");
}

}  // namespace nemotron_h_gguf_test
}  // namespace skald::testing
