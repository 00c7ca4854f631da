// SPDX-License-Identifier: Apache-2.0
//
// gpt-oss as it is published, with experts in MXFP4, and as llama.cpp's converter writes it: the same model, and the
// same weights to the bit.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/gguf_config.h"
#include "skald/model/load.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_gpt_oss.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace gpt_oss_load_test {

std::vector<NewTensor> PublishedTensors() { return RawFile(GoldenPath("gpt_oss/model.mxfp4.safetensors")).Tensors(); }

NewTensor& Named(std::vector<NewTensor>& tensors, const std::string& name) {
  for (NewTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL(name);
  return tensors.front();
}

// The converter's name for a tensor that it does not split.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.norm.", "output_norm."},
                            {"lm_head.", "output."},
                            {"model.layers.", "blk."},
                            {"input_layernorm.", "attn_norm."},
                            {"post_attention_layernorm.", "post_attention_norm."},
                            {"self_attn.o_proj.", "attn_output."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"self_attn.sinks", "attn_sinks.weight"},
                            {"mlp.router.", "ffn_gate_inp."},
                            {"mlp.experts.down_proj_bias", "ffn_down_exps.bias"}};
  return Renamed(std::move(name), parts);
}

// Every second element of `size` bytes, from number `first` on.
std::string EverySecond(const std::string& bytes, size_t size, size_t first) {
  std::string half;
  for (size_t at = first * size; at < bytes.size(); at += 2 * size) half += bytes.substr(at, size);
  return half;
}

// The blocks of GGUF's MXFP4: a scale, then numbers 0 to 15 in the low halves of 16 bytes and 16 to 31 in the high
// ones.
std::string Blocks(const std::string& codes, const std::string& scales) {
  std::string blocks;
  for (size_t block = 0; block < scales.size(); ++block) {
    unsigned code[32];
    for (size_t i = 0; i < 32; ++i) {
      code[i] = static_cast<unsigned char>(codes[block * 16 + i / 2]) >> (i % 2 * 4) & 15;
    }
    blocks += scales[block];
    for (size_t i = 0; i < 16; ++i) blocks += static_cast<char>(code[i] | code[i + 16] << 4);
  }
  return blocks;
}

std::vector<NewGgufTensor> GgufTensorsOf(std::vector<NewTensor> tensors) {
  constexpr uint32_t kMxfp4 = 39;
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : tensors) {
    const size_t experts = tensor.name.find("mlp.experts."), blocks = tensor.name.find("_blocks");
    const std::string layer = Converted(tensor.name.substr(0, experts));
    const bool is_joined = tensor.name.find("gate_up_proj") != std::string::npos;
    if (tensor.name.ends_with("_scales")) continue;
    if (tensor.name.ends_with("gate_up_proj_bias")) {
      const size_t size = tensor.bytes.size() / tensor.shape[0] / tensor.shape[1];
      for (const size_t part : {0, 1}) {
        converted.push_back({layer + (part == 0 ? "ffn_gate_exps.bias" : "ffn_up_exps.bias"),
                             size == 4 ? 0u : 30u,
                             {tensor.shape[0], tensor.shape[1] / 2},
                             EverySecond(tensor.bytes, size, part)});
      }
    } else if (blocks != std::string::npos) {
      const std::string& scales = Named(tensors, tensor.name.substr(0, blocks) + "_scales").bytes;
      const size_t row = tensor.shape[2], rows = tensor.shape[1], cols = row * 32;
      for (size_t part = 0; part < (is_joined ? 2 : 1); ++part) {
        const std::string codes = is_joined ? EverySecond(tensor.bytes, row * 16, part) : tensor.bytes;
        const std::string factors = is_joined ? EverySecond(scales, row, part) : scales;
        const char* const name = !is_joined ? "ffn_down" : part == 0 ? "ffn_gate" : "ffn_up";
        converted.push_back({layer + name + "_exps.weight",
                             kMxfp4,
                             {tensor.shape[0], is_joined ? rows / 2 : rows, cols},
                             Blocks(codes, factors)});
      }
    } else {
      converted.push_back({Converted(tensor.name), tensor.dtype == "F32" ? 0u : 30u, tensor.shape, tensor.bytes});
    }
  }
  return converted;
}

GgufValues Metadata() {
  return GgufValues()
      .String("general.architecture", "gpt-oss")
      .U32("gpt-oss.block_count", 3)
      .U32("gpt-oss.embedding_length", 64)
      .U32("gpt-oss.feed_forward_length", 32)
      .U32("gpt-oss.expert_feed_forward_length", 32)
      .U32("gpt-oss.expert_count", 6)
      .U32("gpt-oss.expert_used_count", 3)
      .U32("gpt-oss.attention.head_count", 6)
      .U32("gpt-oss.attention.head_count_kv", 2)
      .U32("gpt-oss.attention.key_length", 20)
      .U32("gpt-oss.attention.value_length", 20)
      .U32("gpt-oss.attention.sliding_window", 12)
      .F32("gpt-oss.attention.layer_norm_rms_epsilon", 1e-5f)
      .F32("gpt-oss.rope.freq_base", 5000.0f)
      .String("gpt-oss.rope.scaling.type", "yarn")
      .F32("gpt-oss.rope.scaling.factor", 32.0f)
      .U32("gpt-oss.rope.scaling.original_context_length", 256);
}

TEST_CASE("gpt-oss arrives from GGUF as from safetensors, its experts in MXFP4") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(Metadata(), GgufTensorsOf(PublishedTensors())));
  const auto checkpoint = Checkpoint::Open(path);
  REQUIRE_MESSAGE(checkpoint.has_value(), checkpoint.error().message);
  const auto models = ModelsOf(*checkpoint->gguf());
  REQUIRE_MESSAGE(models.has_value(), models.error().message);
  REQUIRE(models->size() == 1);
  const ModelSpec spec = GptOssSpec(GoldenGptOss());
  CHECK(models->front().spec == spec);
  uint64_t done = 0, total = 1;
  const auto expected =
      LoadWeights(GoldenPath("gpt_oss/model.mxfp4.safetensors"), spec, "gpt-oss",
                  {.progress = [&](const LoadProgress& p) { done = p.bytes_done, total = p.bytes_total; }});
  const auto weights = LoadWeights(path, spec, "gpt-oss");
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(done == total);
  CHECK(SameWeights(*weights, *expected));
  CHECK(weights->blocks[1].Of<MixtureOfExperts>().gate_up[5].dtype == DType::kMXFP4);
  CHECK(weights->blocks[1].Of<MixtureOfExperts>().down[0].dtype == DType::kMXFP4);
}

TEST_CASE("tensors of gpt-oss that cannot be are refused with a sentence") {
  const auto check = [](ErrorCode code, const std::string& sentence, auto change) {
    const TemporaryFolder folder;
    std::vector<NewTensor> tensors = PublishedTensors();
    change(tensors);
    WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
    const auto weights = LoadWeights(folder.path() / "model.safetensors", GptOssSpec(GoldenGptOss()), "gpt-oss");
    CheckError(weights, code, "model.safetensors: model.layers.1." + sentence);
  };
  const auto cut = [](const std::string& name, uint64_t rows) {
    return [=](std::vector<NewTensor>& tensors) {
      NewTensor& tensor = Named(tensors, "model.layers.1." + name);
      tensor.bytes.resize(tensor.bytes.size() / tensor.shape[1 % tensor.shape.size()] * rows);
      tensor.shape[1 % tensor.shape.size()] = rows;
    };
  };
  check(ErrorCode::kInvalidArgument, "self_attn.sinks: expected shape [6], found [5]", cut("self_attn.sinks", 5));
  check(ErrorCode::kInvalidArgument,
        "mlp.experts.gate_up_proj_blocks: expected shape [6, 64, 2, 16], found [6, 63, 2, 16]",
        cut("mlp.experts.gate_up_proj_blocks", 63));
  check(ErrorCode::kInvalidArgument, "mlp.experts.down_proj_scales: expected shape [6, 64, 1], found [6, 60, 1]",
        cut("mlp.experts.down_proj_scales", 60));
  check(ErrorCode::kInvalidArgument, "mlp.experts.gate_up_proj_bias: expected shape [6, 64], found [6, 32]",
        cut("mlp.experts.gate_up_proj_bias", 32));
  check(ErrorCode::kUnsupported, "mlp.experts.down_proj_blocks: expected U8, found 'I8'",
        [](auto& tensors) { Named(tensors, "model.layers.1.mlp.experts.down_proj_blocks").dtype = "I8"; });
  check(ErrorCode::kNotFound, "mlp.experts.down_proj_scales: expected a tensor of shape [6, 64, 1], found none",
        [](auto& tensors) { Named(tensors, "model.layers.1.mlp.experts.down_proj_scales").name = "other"; });
}

}  // namespace gpt_oss_load_test
}  // namespace skald::testing
