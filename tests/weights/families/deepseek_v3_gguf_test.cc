// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-V3 and GLM-4.7-Flash in the form that llama.cpp's converters write: the same model, and the same weights to
// the bit, as from safetensors. Layers that predict a further token are skipped.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "skald/weights/random_weights.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_deepseek_v3.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace deepseek_v3_gguf_test {

struct Golden {
  std::string folder;
  DeepSeekV3Sizes sizes;
};

std::vector<Golden> Goldens() {
  return {{"deepseek_v3", GoldenDeepSeekV3Sizes()}, {"glm4_moe_lite", GoldenGlm4MoeLiteSizes()}};
}

// In an order in which experts follow one another by their numbers.
std::vector<NewTensor> TensorsOf(const Golden& golden) {
  std::vector<NewTensor> tensors = RawFile(GoldenPath(golden.folder + "/model.safetensors")).Tensors();
  std::ranges::stable_sort(tensors, {}, [](const NewTensor& tensor) { return tensor.name.size(); });
  return tensors;
}

// The converter's name for a tensor; experts get the name of their stack.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.norm.", "output_norm."},
                            {"lm_head.", "output."},
                            {"model.layers.", "blk."},
                            {"input_layernorm.", "attn_norm."},
                            {"post_attention_layernorm.", "ffn_norm."},
                            {"self_attn.o_proj.", "attn_output."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.q_a_proj.", "attn_q_a."},
                            {"self_attn.q_a_layernorm.", "attn_q_a_norm."},
                            {"self_attn.q_b_proj.", "attn_q_b."},
                            {"self_attn.kv_a_proj_with_mqa.", "attn_kv_a_mqa."},
                            {"self_attn.kv_a_layernorm.", "attn_kv_a_norm."},
                            {"self_attn.kv_b_proj.", "attn_kv_b."},
                            {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
                            {"mlp.gate.", "ffn_gate_inp."},
                            {"mlp.shared_experts.gate_proj.", "ffn_gate_shexp."},
                            {"mlp.shared_experts.up_proj.", "ffn_up_shexp."},
                            {"mlp.shared_experts.down_proj.", "ffn_down_shexp."},
                            {"mlp.experts.", "block_sparse_moe.experts."},
                            {"mlp.gate_proj.", "ffn_gate."},
                            {"mlp.up_proj.", "ffn_up."},
                            {"mlp.down_proj.", "ffn_down."},
                            {".eh_proj.", ".nextn.eh_proj."},
                            {".enorm.", ".nextn.enorm."}};
  return Renamed(std::move(name), parts);
}

// Floats [rows, cols] as columns.
std::string Turned(const std::string& bytes, size_t rows, size_t cols) {
  std::string turned;
  for (size_t col = 0; col < cols; ++col) {
    for (size_t row = 0; row < rows; ++row) turned += bytes.substr((row * cols + col) * sizeof(float), sizeof(float));
  }
  return turned;
}

// The two tensors that newer converters make of kv_b_proj.
void AddApart(const NewTensor& joined, const LatentAttention& attention, std::vector<NewGgufTensor>& converted) {
  const auto heads = static_cast<uint64_t>(attention.heads), latent = static_cast<uint64_t>(attention.latent_dim);
  const auto nope = static_cast<uint64_t>(attention.nope_dim), value = static_cast<uint64_t>(attention.value_dim);
  std::string keys, values;
  const size_t row = latent * sizeof(float);
  for (size_t head = 0; head < heads; ++head) {
    const std::string of_head = joined.bytes.substr(head * (nope + value) * row, (nope + value) * row);
    keys += Turned(of_head.substr(0, nope * row), nope, latent);
    values += of_head.substr(nope * row);
  }
  const std::string layer = Converted(joined.name.substr(0, joined.name.find("self_attn")));
  converted.push_back({layer + "attn_k_b.weight", 0, {heads, latent, nope}, keys});
  converted.push_back({layer + "attn_v_b.weight", 0, {heads, value, latent}, values});
}

std::vector<NewGgufTensor> ConvertedTensors(const std::vector<NewTensor>& tensors, const LatentAttention& attention,
                                            bool apart) {
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : tensors) {
    if (apart && tensor.name.ends_with("kv_b_proj.weight"))
      AddApart(tensor, attention, converted);
    else
      AddConverted({Converted(tensor.name), 0, tensor.shape, tensor.bytes}, converted);
  }
  return converted;
}

GgufValues Metadata(const DeepSeekV3Sizes& sizes, bool newer, uint32_t predicting = 0) {
  const LatentAttention& attention = sizes.attention;
  const auto of_key = static_cast<uint32_t>(attention.rope_dim + attention.nope_dim);
  GgufValues values;
  const auto u32 = [&](const std::string& name, int value) {
    values.U32("deepseek2." + name, static_cast<uint32_t>(value));
  };
  values.String("general.architecture", "deepseek2");
  u32("block_count", static_cast<int>(sizes.dense.size() + predicting));
  if (predicting > 0) u32("nextn_predict_layers", static_cast<int>(predicting));
  u32("leading_dense_block_count", 1);
  u32("embedding_length", sizes.model_dim);
  u32("feed_forward_length", sizes.feed_forward_dim);
  u32("attention.head_count", attention.heads);
  u32("attention.head_count_kv", newer ? 1 : attention.heads);
  if (attention.query_rank > 0) u32("attention.q_lora_rank", attention.query_rank);
  u32("attention.kv_lora_rank", attention.latent_dim);
  u32("attention.key_length", newer ? attention.latent_dim + attention.rope_dim : static_cast<int>(of_key));
  u32("attention.value_length", newer ? attention.latent_dim : attention.value_dim);
  if (newer) u32("attention.key_length_mla", static_cast<int>(of_key));
  if (newer) u32("attention.value_length_mla", attention.value_dim);
  u32("rope.dimension_count", attention.rope_dim);
  u32("expert_count", sizes.experts.experts);
  u32("expert_used_count", sizes.experts.chosen);
  u32("expert_shared_count", 1);
  u32("expert_feed_forward_length", sizes.experts.width);
  u32("expert_group_count", sizes.experts.groups);
  u32("expert_group_used_count", sizes.experts.chosen_groups);
  if (newer || attention.rope.scaling != RopeScaling::kNone) u32("expert_gating_func", 2);
  values.F32("deepseek2.expert_weights_scale", sizes.experts.weight_scale);
  values.Bool("deepseek2.expert_weights_norm", true);
  values.F32("deepseek2.attention.layer_norm_rms_epsilon", sizes.norm_epsilon);
  values.F32("deepseek2.rope.freq_base", static_cast<float>(attention.rope.base));
  if (attention.rope.scaling == RopeScaling::kNone) return values;
  values.String("deepseek2.rope.scaling.type", "yarn").F32("deepseek2.rope.scaling.factor", 40.0f);
  values.U32("deepseek2.rope.scaling.original_context_length", 64);
  return values.F32("deepseek2.rope.scaling.yarn_log_multiplier", 0.1f);
}

// Checks that a GGUF file is the model of `spec`, with the weights of `expected`.
void CheckArrives(const GgufValues& metadata, const std::vector<NewGgufTensor>& tensors, const ModelSpec& spec,
                  const std::string& model_type, const ModelWeights& expected) {
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, GgufImage(metadata, tensors));
  const auto described = DescribeModel(path);
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  CHECK(described->model_type == model_type);
  CHECK(described->spec == spec);
  uint64_t done = 0, total = 1;
  const auto weights = LoadWeights(
      path, described->spec, "",
      {.dtype = DType::kF32, .progress = [&](const LoadProgress& p) { done = p.bytes_done, total = p.bytes_total; }});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(done == total);
  CHECK(SameWeights(*weights, expected));
}

// The weights of tensors in a safetensors file.
Result<ModelWeights> Loaded(const std::vector<NewTensor>& tensors, const ModelSpec& spec) {
  const TemporaryFolder written;
  WriteFile(written.path() / "model.safetensors", SafetensorsImage(tensors));
  return LoadWeights(written.path() / "model.safetensors", spec, "", {.dtype = DType::kF32});
}

TEST_CASE("latent attention arrives from GGUF as from safetensors, its keys and values apart or joined") {
  for (const Golden& golden : Goldens()) {
    CAPTURE(golden.folder);
    const std::vector<NewTensor> tensors = TensorsOf(golden);
    const ModelSpec spec = DeepSeekV3Spec(golden.sizes);
    const auto expected = Loaded(tensors, spec);
    REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
    for (const bool newer : {true, false}) {
      CheckArrives(Metadata(golden.sizes, newer), ConvertedTensors(tensors, golden.sizes.attention, newer), spec,
                   golden.folder, *expected);
    }
    const auto converted = ConvertedTensors(tensors, golden.sizes.attention, true);
    Kept(golden.folder, GgufImage(Metadata(golden.sizes, true), converted));
  }
}

TEST_CASE("queries that are projected at once arrive likewise") {
  Golden golden = Goldens()[1];
  std::vector<NewTensor> tensors;
  for (const NewTensor& tensor : TensorsOf(golden)) {
    if (tensor.name.find("self_attn.q_") == std::string::npos) tensors.push_back(tensor);
  }
  for (const char layer : {'0', '1', '2'}) {
    tensors.push_back(TinyTensor(std::string("model.layers.") + layer + ".self_attn.q_proj.weight", {5 * 22, 60}));
  }
  golden.sizes.attention.query_rank = 0;
  const ModelSpec spec = DeepSeekV3Spec(golden.sizes);
  const auto expected = Loaded(tensors, spec);
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  CheckArrives(Metadata(golden.sizes, true), ConvertedTensors(tensors, golden.sizes.attention, true), spec,
               golden.folder, *expected);
}

// A copy of the last layer after it, with the tensors that predict from its output.
std::vector<NewTensor> WithPredictingLayer(std::vector<NewTensor> tensors, bool predicts) {
  for (size_t i = 0, count = tensors.size(); i < count; ++i) {
    NewTensor copy = tensors[i];
    const size_t at = copy.name.find("layers.2.");
    if (at != std::string::npos) tensors.push_back((copy.name.replace(at, 9, "layers.3."), copy));
  }
  if (!predicts) return tensors;
  tensors.push_back(TinyTensor("model.layers.3.eh_proj.weight", {60, 120}));
  tensors.push_back(TinyTensor("model.layers.3.enorm.weight", {60}));
  return tensors;
}

TEST_CASE("a layer that predicts a further token is passed over, and no other layer") {
  const Golden golden = Goldens()[1];
  const ModelSpec spec = DeepSeekV3Spec(golden.sizes);
  const auto expected = Loaded(TensorsOf(golden), spec);
  REQUIRE(expected);
  const std::vector<NewTensor> tensors = WithPredictingLayer(TensorsOf(golden), true);
  const auto weights = Loaded(tensors, spec);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *expected));
  CheckArrives(Metadata(golden.sizes, true, /*predicting=*/1), ConvertedTensors(tensors, golden.sizes.attention, true),
               spec, golden.folder, *expected);
  const auto refused = Loaded(WithPredictingLayer(TensorsOf(golden), false), spec);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("'model.layers.3.input_layernorm.weight': the Config has no place for this "
                                     "tensor") != std::string::npos);
}

// Rows of 32 numbers as blocks of Q8_0 with the scale 1/64: these, or the numbers as floats.
std::string BlocksOf(const std::string& seed, size_t rows, bool as_floats) {
  std::string bytes;
  for (size_t i = 0; i < rows * 32; ++i) {
    const auto code = static_cast<int8_t>(127.0f * internal::UniformAt(std::hash<std::string>()(seed), i));
    if (i % 32 == 0 && !as_floats) bytes += Raw(uint16_t{0x2400});
    bytes += as_floats ? Raw(static_cast<float>(code) / 64.0f) : Raw(code);
  }
  return bytes;
}

TEST_CASE("of quantised keys and values that are joined, values stay as they are and keys become floats") {
  constexpr uint32_t kQ8_0 = 8;
  Golden golden = Goldens()[1];
  golden.sizes.attention.latent_dim = 32;
  std::vector<NewTensor> floats;
  for (NewTensor tensor : TensorsOf(golden)) {
    if (tensor.name.ends_with("kv_a_proj_with_mqa.weight")) tensor = TinyTensor(tensor.name, {40, 60});
    if (tensor.name.ends_with("kv_a_layernorm.weight")) tensor = TinyTensor(tensor.name, {32});
    if (tensor.name.ends_with("kv_b_proj.weight")) {
      tensor.shape = {5 * 36, 32};
      tensor.bytes = BlocksOf(Converted(tensor.name), 5 * 36, true);
    }
    floats.push_back(tensor);
  }
  std::vector<NewGgufTensor> quantised = ConvertedTensors(floats, golden.sizes.attention, false);
  for (NewGgufTensor& tensor : quantised) {
    if (!tensor.name.ends_with("attn_kv_b.weight")) continue;
    tensor.type = kQ8_0;
    tensor.bytes = BlocksOf(tensor.name, 5 * 36, false);
  }
  const TemporaryFolder written;
  WriteFile(written.path() / "model.gguf", GgufImage(Metadata(golden.sizes, false), quantised));
  const ModelSpec spec = DeepSeekV3Spec(golden.sizes);
  const auto expected = Loaded(floats, spec);
  const auto weights = LoadWeights(written.path() / "model.gguf", spec, "", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  for (size_t block = 0; block < 6; block += 2) {
    const LatentAttention::Weights &found = weights->blocks[block].Of<LatentAttention>(),
                                   &wanted = expected->blocks[block].Of<LatentAttention>();
    for (size_t head = 0; head < 5; ++head) {
      const Matrix &key = found.key_heads[head], &same = wanted.key_heads[head];
      REQUIRE(key.data.size() == same.data.size());
      CHECK(std::memcmp(key.data.data(), same.data.data(), key.data.size()) == 0);
      CHECK(found.value_heads[head].dtype == DType::kQ8_0);
    }
  }
}

TEST_CASE("metadata and tensors of latent attention that cannot be are refused with a sentence") {
  const Golden golden = Goldens()[0];
  const auto check = [&](const GgufValues& metadata, ErrorCode code, const std::string& sentence) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(metadata, ConvertedTensors(TensorsOf(golden), golden.sizes.attention, true)));
    CheckError(DescribeModel(path), code, path.string() + ": metadata: " + sentence);
  };
  DeepSeekV3Sizes wrong = golden.sizes;
  wrong.attention.nope_dim = 0;
  check(Metadata(wrong, true), ErrorCode::kDataLoss,
        "deepseek2.attention.key_length_mla must be more than rope.dimension_count, but is 12");
  wrong = golden.sizes, wrong.experts.chosen_groups = 5;
  check(Metadata(wrong, true), ErrorCode::kDataLoss,
        "deepseek2.expert_group_used_count must be a whole number from 1 to 4, but is 5");
  const auto cut = [&](const std::string& end, const std::string& sentence) {
    std::vector<NewTensor> tensors = TensorsOf(golden);
    for (NewTensor& tensor : tensors) {
      if (!tensor.name.ends_with(end)) continue;
      tensor.bytes.resize(tensor.bytes.size() / tensor.shape[0] * (tensor.shape[0] - 1));
      --tensor.shape[0];
    }
    const auto refused = Loaded(tensors, DeepSeekV3Spec(golden.sizes));
    REQUIRE_FALSE(refused.has_value());
    CHECK_MESSAGE(refused.error().message.find(sentence) != std::string::npos, refused.error().message);
  };
  cut("kv_b_proj.weight", "self_attn.kv_b_proj.weight: expected shape [136, 24], found [135, 24]");
  cut("q_b_proj.weight", "self_attn.q_b_proj.weight: expected shape [112, 28], found [111, 28]");
  cut("kv_a_proj_with_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight: expected shape [36, 60], found [35, 60]");
}

}  // namespace deepseek_v3_gguf_test
}  // namespace skald::testing
