// SPDX-License-Identifier: Apache-2.0
//
// Gemma 4 as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/gguf_config.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_gemma4.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace gemma4_gguf_test {

// The converter's name for a tensor of the checkpoint.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.embed_tokens_per_layer.", "per_layer_token_embd."},
                            {"model.per_layer_model_projection.", "per_layer_model_proj."},
                            {"model.per_layer_projection_norm.", "per_layer_proj_norm."},
                            {"model.norm.", "output_norm."},
                            {"model.layers.", "blk."},
                            {"input_layernorm.", "attn_norm."},
                            {"post_attention_layernorm.", "post_attention_norm."},
                            {"pre_feedforward_layernorm.", "ffn_norm."},
                            {"post_feedforward_layernorm.", "post_ffw_norm."},
                            {"post_per_layer_input_norm.", "post_norm."},
                            {"per_layer_input_gate.", "inp_gate."},
                            {"per_layer_projection.", "proj."},
                            {"layer_scalar", "layer_output_scale.weight"},
                            {"self_attn.o_proj.", "attn_output."},
                            {"self_attn.q_norm.", "attn_q_norm."},
                            {"self_attn.k_norm.", "attn_k_norm."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"pre_feedforward_layernorm_2.", "pre_ffw_norm_2."},
                            {"post_feedforward_layernorm_1.", "post_ffw_norm_1."},
                            {"post_feedforward_layernorm_2.", "post_ffw_norm_2."},
                            {"router.proj.", "ffn_gate_inp."},
                            {"router.scale", "ffn_gate_inp.scale"},
                            {"router.per_expert_scale", "ffn_down_exps.scale"},
                            {"experts.gate_up_proj", "ffn_gate_up_exps.weight"},
                            {"experts.down_proj", "ffn_down_exps.weight"},
                            {"mlp.gate_proj.", "ffn_gate."},
                            {"mlp.up_proj.", "ffn_up."},
                            {"mlp.down_proj.", "ffn_down."}};
  return Renamed(std::move(name), parts);
}

std::vector<NewGgufTensor> GoldenTensors(const std::string& folder, const std::vector<float>& divisors) {
  std::vector<NewGgufTensor> tensors = {{"rope_freqs.weight", 0, {divisors.size()}, BytesOf(divisors)}};
  for (const NewTensor& tensor : RawFile(GoldenPath(folder + "/model.safetensors")).Tensors()) {
    tensors.push_back({Converted(tensor.name), 0, tensor.shape, tensor.bytes});
  }
  return tensors;
}

constexpr uint32_t kInt32 = 5, kBool = 7;

GgufValues Metadata() {
  GgufValues values;
  values.String("general.architecture", "gemma4").U32("gemma4.block_count", 6).U32("gemma4.embedding_length", 60);
  values.Numbers("gemma4.feed_forward_length", kInt32, std::vector<int32_t>{44, 44, 44, 88, 88, 88});
  values.U32("gemma4.attention.head_count", 4).U32("gemma4.attention.head_count_kv", 2);
  values.U32("gemma4.attention.key_length", 28).U32("gemma4.attention.key_length_swa", 16);
  values.U32("gemma4.attention.sliding_window", 9).U32("gemma4.attention.shared_kv_layers", 3);
  values.Numbers("gemma4.attention.sliding_window_pattern", kBool, std::vector<uint8_t>{1, 1, 0, 1, 1, 0});
  values.U32("gemma4.embedding_length_per_layer_input", 12);
  values.F32("gemma4.attention.layer_norm_rms_epsilon", 1e-6f).F32("gemma4.final_logit_softcapping", 30.0f);
  return values.F32("gemma4.rope.freq_base", 1e6f).F32("gemma4.rope.freq_base_swa", 1e4f);
}

// Of the model with experts, whose full layers use keys as values.
GgufValues MixtureMetadata() {
  GgufValues values;
  values.String("general.architecture", "gemma4").U32("gemma4.block_count", 3).U32("gemma4.embedding_length", 60);
  values.U32("gemma4.feed_forward_length", 36).U32("gemma4.attention.head_count", 8);
  values.Numbers("gemma4.attention.head_count_kv", kInt32, std::vector<int32_t>{4, 4, 2});
  values.U32("gemma4.attention.key_length", 20).U32("gemma4.attention.key_length_swa", 12);
  values.U32("gemma4.attention.sliding_window", 10).U32("gemma4.attention.shared_kv_layers", 0);
  values.Numbers("gemma4.attention.sliding_window_pattern", kBool, std::vector<uint8_t>{1, 1, 0});
  values.U32("gemma4.expert_count", 7).U32("gemma4.expert_used_count", 3);
  values.U32("gemma4.expert_feed_forward_length", 20);
  values.F32("gemma4.attention.layer_norm_rms_epsilon", 1e-6f).F32("gemma4.final_logit_softcapping", 30.0f);
  return values.F32("gemma4.rope.freq_base", 1e6f).F32("gemma4.rope.freq_base_swa", 1e4f);
}

Result<std::vector<DescribedModel>> Described(const std::filesystem::path& path, const std::vector<float>& divisors) {
  WriteFile(path, GgufImage(Metadata(), GoldenTensors("gemma4", divisors)));
  return ModelsOf(*Checkpoint::Open(path)->gguf());
}

TEST_CASE("Gemma 4 arrives from GGUF as from safetensors") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  std::vector<float> divisors(14, 1e30f);
  divisors[0] = divisors[1] = divisors[2] = 1.0f;
  const auto models = Described(path, divisors);
  Kept("gemma4", GgufImage(Metadata(), GoldenTensors("gemma4", divisors)));
  REQUIRE_MESSAGE(models.has_value(), models.error().message);
  REQUIRE(models->size() == 1);
  CHECK(models->front().model_type == "gemma4_text");
  const ModelSpec spec = Gemma4Spec(GoldenGemma4());
  CHECK(models->front().spec == spec);
  const auto expected = LoadWeights(GoldenPath("gemma4/model.safetensors"), spec, "gemma4", {.dtype = DType::kF32});
  const auto weights = LoadWeights(path, spec, "gemma4", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *expected));
}

TEST_CASE("Gemma 4 with experts arrives from GGUF as from safetensors") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  std::vector<float> divisors(10, 1e30f);
  divisors[0] = divisors[1] = 1.0f;
  WriteFile(path, Kept("gemma4_moe", GgufImage(MixtureMetadata(), GoldenTensors("gemma4_moe", divisors))));
  const auto described = DescribeModel(path), published = DescribeModel(GoldenPath("gemma4_moe"));
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  REQUIRE(published);
  CHECK(described->spec == published->spec);
  const auto weights = LoadWeights(path, described->spec, "", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *LoadWeights(GoldenPath("gemma4_moe"), published->spec, "", {.dtype = DType::kF32})));
}

// As published files have them.
TEST_CASE("keys and values of layers that share those of others may be there, and change nothing") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& file, const std::vector<NewTensor>& tensors) {
    WriteFile(folder.path() / file, SafetensorsImage(tensors));
    return LoadWeights(folder.path() / file, Gemma4Spec(GoldenGemma4()), "", {.dtype = DType::kF32});
  };
  const auto zeros = [](const std::string& name, const std::vector<uint64_t>& shape) {
    size_t bytes = sizeof(float);
    for (const uint64_t axis : shape) bytes *= axis;
    return NewTensor{name, "F32", shape, std::string(bytes, '\0')};
  };
  std::vector<NewTensor> tensors = RawFile(GoldenPath("gemma4/model.safetensors")).Tensors();
  const auto expected = load("without.safetensors", tensors);
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  tensors.push_back(zeros("model.layers.4.self_attn.k_proj.weight", {32, 60}));
  tensors.push_back(zeros("model.layers.4.self_attn.v_proj.weight", {32, 60}));
  tensors.push_back(zeros("model.layers.4.self_attn.k_norm.weight", {16}));
  const auto weights = load("with.safetensors", tensors);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *expected));
  tensors.push_back(zeros("model.layers.4.self_attn.k_proj.bias", {32}));
  CheckError(load("bias.safetensors", tensors), ErrorCode::kInvalidArgument, "model.layers.4.self_attn.k_proj.bias");
}

TEST_CASE("RoPE divisors that Gemma 4 does not have are refused with a sentence") {
  const TemporaryFolder folder;
  std::vector<float> mixed(14, 1e30f), short_list(13, 1.0f), twos(14, 2.0f);
  mixed[1] = 1.0f, mixed[2] = 3.0f;
  for (const auto& divisors : {mixed, short_list, twos}) {
    CheckError(
        Described(folder.path() / "model.gguf", divisors), ErrorCode::kDataLoss,
        "gemma4.rope_freqs.weight must be half as many numbers as attention.key_length, ones and then huge ones");
  }
}

}  // namespace gemma4_gguf_test
}  // namespace skald::testing
