// SPDX-License-Identifier: Apache-2.0
//
// Qwen3-Next and Qwen 3.5 as llama.cpp's converter writes them: Qwen3-Next the same weights to the bit as from
// safetensors; Qwen 3.5, whose value heads the converter reorders, the same answers.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/layers/model_weights.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/compare_logits.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace qwen3_next_gguf_test {

constexpr size_t kKeyHeads = 3, kKeyDim = 12, kValuesPerKey = 2, kValueDim = 10, kModelDim = 56;
constexpr size_t kValueHeads = kKeyHeads * kValuesPerKey;

// The converter's name for a tensor of the checkpoint.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.norm.", "output_norm."},
                            {"lm_head.", "output."},
                            {"model.layers.", "blk."},
                            {"mtp.layers.0.", "blk.4."},
                            {"mtp.fc.", "blk.4.nextn.eh_proj."},
                            {"mtp.pre_fc_norm_embedding.", "blk.4.nextn.enorm."},
                            {"mtp.pre_fc_norm_hidden.", "blk.4.nextn.hnorm."},
                            {"mtp.norm.", "blk.4.nextn.shared_head_norm."},
                            {"input_layernorm.", "attn_norm."},
                            {"post_attention_layernorm.", "post_attention_norm."},
                            {"self_attn.o_proj.", "attn_output."},
                            {"self_attn.q_norm.", "attn_q_norm."},
                            {"self_attn.k_norm.", "attn_k_norm."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"linear_attn.in_proj_qkv.", "attn_qkv."},
                            {"linear_attn.in_proj_z.", "attn_gate."},
                            {"linear_attn.in_proj_ba.", "ssm_ba."},
                            {"linear_attn.in_proj_b.", "ssm_beta."},
                            {"linear_attn.in_proj_a.", "ssm_alpha."},
                            {"linear_attn.conv1d.", "ssm_conv1d."},
                            {"linear_attn.A_log", "ssm_a"},
                            {"linear_attn.dt_bias", "ssm_dt.bias"},
                            {"linear_attn.norm.", "ssm_norm."},
                            {"linear_attn.out_proj.", "ssm_out."},
                            {"mlp.gate.", "ffn_gate_inp."},
                            {"mlp.shared_expert_gate.", "ffn_gate_inp_shexp."},
                            {"mlp.shared_expert.gate_proj.", "ffn_gate_shexp."},
                            {"mlp.shared_expert.up_proj.", "ffn_up_shexp."},
                            {"mlp.shared_expert.down_proj.", "ffn_down_shexp."},
                            {"mlp.experts.down_proj", "ffn_down_exps.weight"},
                            {"mlp.experts.", "block_sparse_moe.experts."},
                            {"mlp.gate_proj.", "ffn_gate."},
                            {"mlp.up_proj.", "ffn_up."},
                            {"mlp.down_proj.", "ffn_down."}};
  return Renamed(std::move(name), parts);
}

// The rows of a tensor [rows, row_bytes] by the pieces they are made of: [begin, begin + count) rows each.
std::string Rows(const std::string& bytes, size_t row_bytes, size_t begin, size_t count) {
  return bytes.substr(begin * row_bytes, count * row_bytes);
}

// Value heads of `bytes`, `head_bytes` each, so that those of one key head are no neighbours.
std::string Tiled(const std::string& bytes, size_t head_bytes) {
  std::string tiled;
  for (size_t i = 0; i < kValuesPerKey; ++i) {
    for (size_t key = 0; key < kKeyHeads; ++key)
      tiled += bytes.substr((key * kValuesPerKey + i) * head_bytes, head_bytes);
  }
  return tiled;
}

// The converter's form of a tensor of Qwen3-Next: the projections of each key head apart.
std::vector<NewGgufTensor> SplitProjection(const NewTensor& tensor) {
  const size_t row = kModelDim * sizeof(float), values = kValuesPerKey * kValueDim, head = 2 * kKeyDim + 2 * values;
  std::string queries, keys, value_rows, gates;
  for (size_t i = 0; i < kKeyHeads; ++i) {
    queries += Rows(tensor.bytes, row, i * head, kKeyDim);
    keys += Rows(tensor.bytes, row, i * head + kKeyDim, kKeyDim);
    value_rows += Rows(tensor.bytes, row, i * head + 2 * kKeyDim, values);
    gates += Rows(tensor.bytes, row, i * head + 2 * kKeyDim + values, values);
  }
  const std::string prefix = Converted(tensor.name).substr(0, Converted(tensor.name).find("linear_attn"));
  return {{prefix + "attn_qkv.weight", 0, {kKeyHeads * (head - values), kModelDim}, queries + keys + value_rows},
          {prefix + "attn_gate.weight", 0, {kKeyHeads * values, kModelDim}, gates}};
}

// Reorders what a tensor of Qwen 3.5 has for each value head.
std::string Reordered(const NewTensor& tensor) {
  const auto is = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
  const size_t row = tensor.bytes.size() / tensor.shape[0], keys = 2 * kKeyHeads * kKeyDim * row;
  if (is("in_proj_qkv.") || is("conv1d.")) {
    return tensor.bytes.substr(0, keys) + Tiled(tensor.bytes.substr(keys), kValueDim * row);
  }
  if (is("in_proj_z.")) return Tiled(tensor.bytes, kValueDim * row);
  if (is("in_proj_b.") || is("in_proj_a.") || is("A_log") || is("dt_bias")) return Tiled(tensor.bytes, row);
  if (!is("out_proj.")) return tensor.bytes;
  std::string bytes;
  for (size_t i = 0; i < tensor.shape[0]; ++i) bytes += Tiled(Rows(tensor.bytes, row, i, 1), kValueDim * sizeof(float));
  return bytes;
}

std::vector<NewGgufTensor> ConvertedTensors(const std::string& folder, const char* file = "model.safetensors") {
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath(folder + "/" + file)).Tensors()) {
    if (tensor.name.ends_with("in_proj_qkvz.weight")) {
      for (NewGgufTensor& part : SplitProjection(tensor)) converted.push_back(std::move(part));
      continue;
    }
    std::string bytes = folder == "qwen3_next" ? tensor.bytes : Reordered(tensor);
    if (tensor.name.ends_with("A_log")) bytes = WithDecays(bytes);
    const bool is_norm = tensor.name.ends_with("norm.weight") || tensor.name.starts_with("mtp.pre_fc_norm");
    if (is_norm && !tensor.name.ends_with("linear_attn.norm.weight")) {
      bytes = MappedFloats(bytes, [](float x) { return 1.0f + x; });
    }
    std::vector<uint64_t> shape = tensor.shape;
    if (tensor.name.ends_with("conv1d.weight")) shape = {shape[0], shape[2]};
    if (tensor.name.ends_with("shared_expert_gate.weight")) shape = {shape[1]};
    if (tensor.name.ends_with("experts.gate_up_proj")) {  // the converter splits it
      const std::string prefix = Converted(tensor.name).substr(0, Converted(tensor.name).find("block_sparse_moe"));
      const size_t half = shape[1] / 2, half_bytes = half * shape[2] * sizeof(float);
      std::string gates, ups;
      for (size_t i = 0; i < shape[0]; ++i) {
        gates += bytes.substr(2 * i * half_bytes, half_bytes);
        ups += bytes.substr((2 * i + 1) * half_bytes, half_bytes);
      }
      converted.push_back({prefix + "ffn_gate_exps.weight", 0, {shape[0], half, shape[2]}, gates});
      converted.push_back({prefix + "ffn_up_exps.weight", 0, {shape[0], half, shape[2]}, ups});
      continue;
    }
    AddConverted({Converted(tensor.name), 0, shape, bytes}, converted);
  }
  return converted;
}

GgufValues Metadata(const std::string& of, uint32_t predicting = 0) {
  GgufValues values;
  values.String("general.architecture", of).U32(of + ".block_count", 4 + predicting);
  if (predicting > 0) values.U32(of + ".nextn_predict_layers", predicting);
  values.U32(of + ".embedding_length", kModelDim);
  values.U32(of + ".attention.head_count", 4).U32(of + ".attention.head_count_kv", 2);
  values.U32(of + ".attention.key_length", 24).U32(of + ".attention.value_length", 24);
  values.U32(of + ".feed_forward_length", 60).F32(of + ".attention.layer_norm_rms_epsilon", 1e-6f);
  values.F32(of + ".rope.freq_base", 1e7f).U32(of + ".rope.dimension_count", 6);
  values.U32(of + ".full_attention_interval", 4).U32(of + ".ssm.conv_kernel", 4);
  values.U32(of + ".ssm.state_size", kKeyDim).U32(of + ".ssm.group_count", kKeyHeads);
  values.U32(of + ".ssm.time_step_rank", kValueHeads).U32(of + ".ssm.inner_size", kValueHeads * kValueDim);
  if (of == "qwen35") return values;
  values.U32(of + ".expert_count", 8).U32(of + ".expert_used_count", 3);
  return values.U32(of + ".expert_feed_forward_length", 16).U32(of + ".expert_shared_feed_forward_length", 20);
}

struct Written {
  Written(const std::string& folder, const std::string& architecture) : path(of.path() / "model.gguf") {
    WriteFile(path, Kept(folder, GgufImage(Metadata(architecture), ConvertedTensors(folder))));
  }
  TemporaryFolder of;
  std::filesystem::path path;
};

TEST_CASE("Qwen3-Next arrives from GGUF as from safetensors") {
  const Written file("qwen3_next", "qwen3next");
  const auto described = DescribeModel(file.path);
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  CHECK(described->model_type == "qwen3_next");
  const auto expected = DescribeModel(GoldenPath("qwen3_next"));
  REQUIRE(expected);
  CHECK(described->spec == expected->spec);
  const auto weights = LoadWeights(file.path, described->spec, "qwen3_next", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *LoadWeights(GoldenPath("qwen3_next"), expected->spec, "", {.dtype = DType::kF32})));
}

TEST_CASE("Qwen 3.5 from GGUF, with its value heads in another order, gives the recorded answers") {
  for (const auto& [folder, architecture] : {std::pair("qwen3_5", "qwen35"), {"qwen3_5_moe", "qwen35moe"}}) {
    CAPTURE(folder);
    const Written file(folder, architecture);
    const auto model = LoadAnyModel(file.path, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    const ReferenceTensors reference(GoldenPath(std::string(folder) + "/golden.safetensors"));
    for (size_t row = 0; row < 2; ++row) {
      const std::vector<int32_t> prompt = reference.Tokens("input_ids", row);
      CheckRows(*model, prompt, Want::kLogits, reference.Floats("logits", row), kExact, 4.0f);  // as in tests/golden
    }
  }
}

// A copy of the last block, which attends, after it, with tensors of its own that predict from the model's output.
std::vector<NewGgufTensor> WithPredictingBlock(std::vector<NewGgufTensor> tensors) {
  for (size_t i = 0, count = tensors.size(); i < count; ++i) {
    NewGgufTensor copy = tensors[i];
    if (copy.name.starts_with("blk.3.")) tensors.push_back((copy.name.replace(0, 6, "blk.4."), copy));
  }
  const std::string ones = BytesOf(std::vector<float>(2 * kModelDim * kModelDim, 1.0f));
  const size_t row = kModelDim * sizeof(float);
  tensors.push_back({"blk.4.nextn.eh_proj.weight", 0, {kModelDim, 2 * kModelDim}, ones});
  for (const char* const norm : {"enorm", "hnorm", "shared_head_norm"}) {
    tensors.push_back({std::string("blk.4.nextn.") + norm + ".weight", 0, {kModelDim}, ones.substr(0, row)});
  }
  return tensors;
}

TEST_CASE("a block that predicts a further token is passed over") {
  for (const auto& [folder, architecture] :
       {std::pair("qwen3_next", "qwen3next"), {"qwen3_5", "qwen35"}, {"qwen3_5_moe", "qwen35moe"}}) {
    CAPTURE(folder);
    const Written plain(folder, architecture);
    const ModelSpec spec = DescribeModel(plain.path)->spec;
    const auto tensors = WithPredictingBlock(ConvertedTensors(folder));
    const auto path = plain.of.path() / "predicting.gguf";
    WriteFile(path, GgufImage(Metadata(architecture, /*predicting=*/1), tensors));
    const auto described = DescribeModel(path);
    REQUIRE_MESSAGE(described.has_value(), described.error().message);
    CHECK(described->spec == spec);
    const auto weights = LoadWeights(path, spec, "");
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    CHECK(SameWeights(*weights, *LoadWeights(plain.path, spec, "")));
  }
}

TEST_CASE("a block that predicts a further token guesses as recorded") {
  for (const auto& [folder, architecture] : {std::pair("qwen3_next", "qwen3next"), {"qwen3_5", "qwen35"}}) {
    CAPTURE(folder);
    std::vector<NewGgufTensor> tensors = ConvertedTensors(folder);
    for (NewGgufTensor& tensor : ConvertedTensors(folder, "mtp.safetensors")) tensors.push_back(std::move(tensor));
    const TemporaryFolder of;
    WriteFile(of.path() / "model.gguf", GgufImage(Metadata(architecture, /*predicting=*/1), tensors));
    const OpenedModel opened = *OpenedModel::Open(of.path() / "model.gguf");
    const AnyModel model = *LoadAnyModel(opened, {.dtype = DType::kF32});
    const auto head = LoadPredictionHead(opened, model, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(head.has_value(), head.error().message);
    CheckHead(model, *head, folder, "mtp.golden.safetensors");
  }
}

TEST_CASE("a block that predicts a further token may have an embedding and an output head of its own") {
  // Where the model's two are exchanged, and the block has both as they were, it computes the same.
  const auto outputs = [](bool exchanged) {
    std::vector<NewGgufTensor> tensors = ConvertedTensors("qwen3_next");
    for (NewGgufTensor& tensor : ConvertedTensors("qwen3_next", "mtp.safetensors"))
      tensors.push_back(std::move(tensor));
    for (size_t i = 0, count = tensors.size(); i < count && exchanged; ++i) {
      NewGgufTensor own = tensors[i];
      const bool is_embedding = own.name == "token_embd.weight";
      if (!is_embedding && own.name != "output.weight") continue;
      tensors[i].name = is_embedding ? "output.weight" : "token_embd.weight";
      own.name = is_embedding ? "blk.4.nextn.embed_tokens.weight" : "blk.4.nextn.shared_head_head.weight";
      tensors.push_back(std::move(own));
    }
    const TemporaryFolder of;
    WriteFile(of.path() / "model.gguf", GgufImage(Metadata("qwen3next", /*predicting=*/1), tensors));
    const OpenedModel opened = *OpenedModel::Open(of.path() / "model.gguf");
    const AnyModel model = *LoadAnyModel(opened, {.dtype = DType::kF32});
    const auto head = LoadPredictionHead(opened, model, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(head.has_value(), head.error().message);
    return HeadOutputs(*head);
  };
  CHECK(outputs(true) == outputs(false));
}

TEST_CASE("a rank's part of value heads in another order is that of a packed file of all") {
  const Written file("qwen3_5", "qwen35");
  const ModelSpec spec = DescribeModel(file.path)->spec;
  const auto packed = file.of.path() / "packed";
  const ModelWeights whole = *LoadWeights(file.path, spec, "");
  REQUIRE(WritePackedFile(packed, ParametersOf(whole), {"qwen3_5", Fingerprint(spec), whole.dtype}));
  for (const size_t ranks : {2u, 3u}) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      const LoadOptions options = {.share = {rank, ranks}};
      CHECK(SameWeights(*LoadWeights(file.path, spec, "", options), *LoadWeights(packed, spec, "", options)));
    }
  }
}

TEST_CASE("a Config of Qwen 3.5 as it is published refuses value heads in another order") {
  for (const auto& [folder, architecture] : {std::pair("qwen3_5", "qwen35"), {"qwen3_5_moe", "qwen35moe"}}) {
    const Written file(folder, architecture);
    CheckError(LoadWeights(file.path, DescribeModel(GoldenPath(folder))->spec, ""), ErrorCode::kInvalidArgument,
               file.path.string() + ": GGUF files of " + architecture + " have value heads in another order");
  }
}

}  // namespace qwen3_next_gguf_test
}  // namespace skald::testing
