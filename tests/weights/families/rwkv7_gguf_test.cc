// SPDX-License-Identifier: Apache-2.0
//
// RWKV-7 as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/rwkv7/rwkv7.h"
#include "skald/model/load_any.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace rwkv7_gguf_test {

// The converter's name for a tensor of the checkpoint.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embeddings.", "token_embd."},
                            {"model.norm.", "output_norm."},
                            {"model.layers.0.pre_norm.", "token_embd_norm."},
                            {"lm_head.", "output."},
                            {"model.layers.", "blk."},
                            {".ffn_norm.", ".attn_norm_2."},
                            {"attn.r_proj.", "time_mix_receptance."},
                            {"attn.k_proj.", "time_mix_key."},
                            {"attn.v_proj.", "time_mix_value."},
                            {"attn.o_proj.", "time_mix_output."},
                            {"attn.g_norm.", "time_mix_ln."},
                            {"attn.k_k", "time_mix_k_k.weight"},
                            {"attn.k_a", "time_mix_k_a.weight"},
                            {"attn.r_k", "time_mix_r_k.weight"},
                            {"ffn.x_k", "channel_mix_lerp_k.weight"},
                            {"ffn.key.", "channel_mix_key."},
                            {"ffn.value.", "channel_mix_value."},
                            {"_lora.lora.0.weight", "1.weight"},
                            {"_lora.lora.2.weight", "2.weight"},
                            {"_lora.lora.2.bias", "0.weight"},
                            {".attn.", ".time_mix_"}};
  return Renamed(std::move(name), parts);
}

// All tensors of the checkpoint. The mixing factors of rows are joined, and the first layer has copies of its rates in
// place of other layers' value blend.
std::vector<NewGgufTensor> ConvertedTensors() {
  std::vector<NewGgufTensor> converted;
  std::vector<NewTensor> mixes[2];
  for (const NewTensor& tensor : RawFile(GoldenPath("rwkv7/model.safetensors")).Tensors()) {
    if (const size_t mix = tensor.name.find(".attn.x_"); mix != std::string::npos) {
      mixes[tensor.name[mix - 1] - '0'].push_back(tensor);
      continue;
    }
    const std::string name = Converted(tensor.name);
    std::vector<uint64_t> shape = tensor.shape;
    if (name.ends_with("r_k.weight")) shape = {shape[0] * shape[1]};
    converted.push_back({name, 0, shape, tensor.bytes});
    const size_t rate = name.find("blk.0.time_mix_a");
    if (rate == std::string::npos) continue;
    std::string copy = name;
    copy.replace(rate, std::string("blk.0.time_mix_a").size(), "blk.0.time_mix_v");
    converted.push_back({copy, 0, shape, tensor.bytes});
  }
  for (size_t layer = 0; layer < 2; ++layer) {
    NewGgufTensor fused = {"blk." + std::to_string(layer) + ".time_mix_lerp_fused.weight", 0, {6, 1, 1, 128}, ""};
    for (const char* const mix : {"x_r", "x_w", "x_k", "x_v", "x_a", "x_g"}) {
      for (const NewTensor& tensor : mixes[layer]) fused.bytes += tensor.name.ends_with(mix) ? tensor.bytes : "";
    }
    converted.push_back(fused);
  }
  return converted;
}

GgufValues Metadata(uint32_t head_size = 64, uint32_t decay_rank = 12) {
  return GgufValues()
      .String("general.architecture", "rwkv7")
      .U32("rwkv7.context_length", 1048576)
      .U32("rwkv7.block_count", 2)
      .U32("rwkv7.embedding_length", 128)
      .U32("rwkv7.feed_forward_length", 144)
      .U32("rwkv7.attention.head_count", 0)
      .F32("rwkv7.attention.layer_norm_epsilon", 1e-5f)
      .U32("rwkv7.wkv.head_size", head_size)
      .U32("rwkv7.attention.decay_lora_rank", decay_rank)
      .U32("rwkv7.attention.iclr_lora_rank", 10)
      .U32("rwkv7.attention.value_residual_mix_lora_rank", 8)
      .U32("rwkv7.attention.gate_lora_rank", 14);
}

TEST_CASE("RWKV-7 arrives from GGUF as from safetensors") {
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, Kept("rwkv7", GgufImage(Metadata(), ConvertedTensors())));
  const auto described = DescribeModel(path), expected = DescribeModel(GoldenPath("rwkv7"));
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  REQUIRE(expected);
  CHECK(described->model_type == expected->model_type);
  CHECK(described->spec == expected->spec);
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    const auto weights = LoadWeights(path, described->spec, "", {.dtype = dtype});
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    CHECK(SameWeights(*weights, *LoadWeights(GoldenPath("rwkv7"), expected->spec, "", {.dtype = dtype})));
  }
}

TEST_CASE("a GGUF file of RWKV-7 that cannot be is refused with a sentence") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(Metadata(32), ConvertedTensors()));
  CheckError(DescribeModel(path), ErrorCode::kUnsupported,
             path.string() + ": metadata: rwkv7.wkv.head_size is 32; Skald supports only 64");
  WriteFile(path, GgufImage(Metadata(64, 11), ConvertedTensors()));
  const auto described = DescribeModel(path);
  REQUIRE(described);
  CheckError(LoadWeights(path, described->spec, ""), ErrorCode::kInvalidArgument,
             path.string() + ": blk.0.time_mix_w1.weight: expected shape [11, 128], found [12, 128]");
}

TEST_CASE("a checkpoint of RWKV-7 without a tensor, or with one of another size, is refused by name") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.safetensors";
  const ModelSpec spec = DescribeModel(GoldenPath("rwkv7"))->spec;
  const auto check = [&](const std::string& name, bool drop, const std::string& complaint) {
    std::vector<NewTensor> tensors = RawFile(GoldenPath("rwkv7/model.safetensors")).Tensors();
    const auto at = std::ranges::find(tensors, name, &NewTensor::name);
    REQUIRE(at != tensors.end());
    if (drop) {
      tensors.erase(at);
    } else {
      at->shape = {1, at->shape[0] * (at->shape.size() > 1 ? at->shape[1] : 1)};
    }
    WriteFile(path, SafetensorsImage(tensors));
    const auto weights = LoadWeights(path, spec, "");
    REQUIRE_FALSE(weights.has_value());
    CHECK(weights.error().message.find(name + complaint) != std::string::npos);
  };
  check("model.layers.1.attn.v_lora.lora.2.bias", true, ": expected a tensor of shape [128], found none");
  check("model.layers.0.pre_norm.weight", true, ": expected a tensor of shape [128], found none");
  check("model.layers.1.attn.r_k", false, ": expected shape [2, 64], found [1, 128]");
}

}  // namespace rwkv7_gguf_test
}  // namespace skald::testing
