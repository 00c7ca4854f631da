// SPDX-License-Identifier: Apache-2.0
//
// Granite 4 as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors;
// and the architectures of its models without Mamba-2, which Granite 3 has too.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/granite4/granite4.h"
#include "skald/model/load_any.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/families/check_arrives.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace granite_gguf_test {

// The converter's name for a tensor of the checkpoint.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.norm.", "output_norm."},
                            {"input_layernorm.", "attn_norm."},
                            {"post_attention_layernorm.", "ffn_norm."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"self_attn.o_proj.", "attn_output."},
                            {"mamba.in_proj.", "ssm_in."},
                            {"mamba.conv1d.", "ssm_conv1d."},
                            {"mamba.dt_bias", "ssm_dt.bias"},
                            {"mamba.A_log", "ssm_a"},
                            {"mamba.D", "ssm_d"},
                            {"mamba.norm.", "ssm_norm."},
                            {"mamba.out_proj.", "ssm_out."},
                            {"block_sparse_moe.router.layer.", "ffn_gate_inp."},
                            {"block_sparse_moe.output_linear.", "ffn_down_exps."},
                            {"model.layers.", "blk."}};
  return Renamed(std::move(name), parts);
}

// Adds the two halves of a tensor whose rows are gates and then what they let through, of one expert after the other.
void AddHalves(const NewTensor& tensor, const std::string& prefix, const std::string& suffix,
               std::vector<NewGgufTensor>& converted) {
  std::vector<uint64_t> shape = tensor.shape;
  uint64_t& rows = shape[shape.size() - 2];
  const size_t experts = shape.size() == 3 ? shape[0] : 1, half_bytes = tensor.bytes.size() / experts / 2;
  rows /= 2;
  std::string gates, ups;
  for (size_t i = 0; i < experts; ++i) {
    gates += tensor.bytes.substr(2 * i * half_bytes, half_bytes);
    ups += tensor.bytes.substr((2 * i + 1) * half_bytes, half_bytes);
  }
  converted.push_back({prefix + "ffn_gate" + suffix, 0, shape, gates});
  converted.push_back({prefix + "ffn_up" + suffix, 0, shape, ups});
}

std::vector<NewGgufTensor> ConvertedTensors(const std::string& folder, size_t head_dim) {
  const std::string beside = folder == "granitemoehybrid" ? "_shexp.weight" : ".weight";
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath(folder + "/model.safetensors")).Tensors()) {
    const auto ends = [&](const char* end) { return tensor.name.ends_with(end); };
    const std::string name = Converted(tensor.name), prefix = name.substr(0, name.find('.', 4) + 1);
    if (ends("block_sparse_moe.input_linear.weight")) {
      AddHalves(tensor, prefix, "_exps.weight", converted);
    } else if (ends("shared_mlp.input_linear.weight")) {
      AddHalves(tensor, prefix, beside, converted);
    } else if (ends("shared_mlp.output_linear.weight")) {
      converted.push_back({prefix + "ffn_down" + beside, 0, tensor.shape, tensor.bytes});
    } else {
      std::vector<uint64_t> shape = tensor.shape;
      std::string bytes = tensor.bytes;
      if (ends("conv1d.weight")) shape = {shape[0], shape[2]};
      if (ends("mamba.A_log") || ends("mamba.D")) shape = {shape[0], 1};
      if (ends("mamba.norm.weight")) shape = {1, shape[0]};
      if (ends("mamba.A_log")) bytes = WithDecays(bytes);
      if (ends("q_proj.weight") || ends("k_proj.weight")) bytes = WithPairsAdjacent(bytes, shape[0], head_dim);
      converted.push_back({name, 0, shape, bytes});
    }
  }
  return converted;
}

// Metadata of all architectures.
GgufValues Metadata(const std::string& of, uint32_t model_dim, uint32_t heads) {
  return GgufValues()
      .String("general.architecture", of)
      .U32(of + ".block_count", 4)
      .U32(of + ".embedding_length", model_dim)
      .U32(of + ".attention.head_count", heads)
      .U32(of + ".rope.dimension_count", model_dim / heads)
      .F32(of + ".rope.freq_base", 1e4f)
      .F32(of + ".attention.layer_norm_rms_epsilon", 1e-5f)
      .F32(of + ".attention.scale", 0.12f)
      .F32(of + ".embedding_scale", 2.0f)
      .F32(of + ".residual_scale", 0.6f)
      .F32(of + ".logit_scale", 2.0f);
}

GgufValues HybridMetadata(const std::string& folder, const std::vector<int32_t>& kv_heads) {
  const bool has_experts = folder == "granitemoehybrid";
  const std::string of = "granitehybrid";
  return Metadata(of, has_experts ? 60 : 56, has_experts ? 6 : 4)
      .Bool(of + ".rope.scaling.finetuned", false)
      .Numbers(of + ".attention.head_count_kv", 5, kv_heads)
      .U32(of + ".feed_forward_length", has_experts ? 20 : 52)
      .U32(of + ".expert_shared_feed_forward_length", has_experts ? 28 : 52)
      .U32(of + ".expert_count", has_experts ? 7 : 0)
      .U32(of + ".expert_used_count", has_experts ? 3 : 0)
      .U32(of + ".ssm.conv_kernel", 4)
      .U32(of + ".ssm.state_size", 12)
      .U32(of + ".ssm.group_count", 1)
      .U32(of + ".ssm.time_step_rank", has_experts ? 6 : 7)
      .U32(of + ".ssm.inner_size", has_experts ? 120 : 112);
}

void CheckArrives(const std::string& folder, const std::vector<int32_t>& kv_heads, size_t head_dim) {
  testing::CheckArrives(folder, GgufImage(HybridMetadata(folder, kv_heads), ConvertedTensors(folder, head_dim)));
}

TEST_CASE("Granite 4 arrives from GGUF as from safetensors, with experts and without") {
  CheckArrives("granitemoehybrid_dense", {0, 0, 4, 0}, 14);
  CheckArrives("granitemoehybrid", {0, 2, 0, 0}, 10);
}

// The model in a file of these values and an embedding.
Result<DescribedModel> Described(const GgufValues& metadata, const TemporaryFolder& folder) {
  const auto path = folder.path() / "model.gguf";
  const std::vector<float> zeros(264 * 60);
  WriteFile(path, GgufImage(metadata, {{"token_embd.weight", 0, {264, 60}, BytesOf(zeros)}}));
  return DescribeModel(path);
}

// The four layers of such a model.
ShortForm AllAttention() {
  ShortForm a = ShortFormOf<Granite4Family>();
  a.model_dim = 60, a.vocab_size = 264, a.heads = 6, a.kv_heads = 2, a.head_dim = a.rotary_dim = 10;
  a.layers.assign(4, LayerKind::kFullAttention);
  a.query_pre_scale = 1.0 / (double{0.12f} * double{0.12f});
  a.embedding_multiplier = 2.0f, a.residual_multiplier = 0.6f, a.logits_scaling = 2.0f;
  return a;
}

TEST_CASE("Granite without Mamba-2 has RoPE, and experts with a layer beside them or without") {
  const TemporaryFolder folder;
  ShortForm dense = AllAttention();
  dense.feed_forward_dim = 52;
  const auto granite = Described(Metadata("granite", 60, 6)
                                     .Numbers("granite.attention.head_count_kv", 5, std::vector<int32_t>{2, 2, 2, 2})
                                     .U32("granite.feed_forward_length", 52)
                                     .U32("granite.expert_count", 0)
                                     .Bool("granite.rope.scaling.finetuned", true),
                                 folder);
  REQUIRE_MESSAGE(granite.has_value(), granite.error().message);
  CHECK(granite->spec == Expand(dense));
  CHECK(WhyImpossible(granite->spec) == nullptr);
  for (const bool shared : {false, true}) {
    GgufValues metadata = Metadata("granitemoe", 60, 6)
                              .U32("granitemoe.attention.head_count_kv", 2)
                              .U32("granitemoe.feed_forward_length", 20)
                              .U32("granitemoe.expert_count", 7)
                              .U32("granitemoe.expert_used_count", 3);
    if (shared) metadata.U32("granitemoe.expert_shared_feed_forward_length", 28);
    ShortForm mixture = AllAttention();
    mixture.feed_forward = MixtureOfExperts{.experts = 7, .chosen = 3, .width = 20};
    mixture.shared_feed_forward = shared, mixture.feed_forward_dim = shared ? 28 : 0;
    const auto described = Described(metadata, folder);
    REQUIRE_MESSAGE(described.has_value(), described.error().message);
    CHECK(described->spec == Expand(mixture));
    CHECK(WhyImpossible(described->spec) == nullptr);
  }
}

TEST_CASE("layers of Granite that cannot be are refused with a sentence") {
  const TemporaryFolder folder;
  const std::string prefix = (folder.path() / "model.gguf").string() + ": metadata: ";
  const auto check = [&](const std::vector<int32_t>& kv_heads, const std::string& sentence) {
    CheckError(Described(HybridMetadata("granitemoehybrid", kv_heads), folder), ErrorCode::kDataLoss,
               prefix + "granitehybrid." + sentence);
  };
  check({0, 2, 0}, "attention.head_count_kv must be a number, or an array of block_count, but is an array of 3");
  check({0, 2, 0, 3}, "attention.head_count_kv must be whole numbers, the same but for those that are 0, but is 3");
  CheckError(Described(Metadata("granite", 60, 6).U32("granite.feed_forward_length", 0), folder), ErrorCode::kDataLoss,
             prefix + "granite.feed_forward_length must be a whole number from 1 to ");
}

}  // namespace granite_gguf_test
}  // namespace skald::testing
