// SPDX-License-Identifier: Apache-2.0
//
// Falcon-H1 as llama.cpp's converter writes it: with its multipliers in the weights, so that the answers are those that
// were recorded, but for rounding.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/falcon_h1/falcon_h1.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "tests/support/check_error.h"
#include "tests/support/compare_logits.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {
namespace falcon_h1_gguf_test {

// The converter's name for a tensor of the checkpoint; one name has no ".weight".
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.final_layernorm.", "output_norm."},
                            {"lm_head.", "output."},
                            {"input_layernorm.", "attn_norm."},
                            {"pre_ff_layernorm.weight", "ffn_norm"},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"self_attn.o_proj.", "attn_output."},
                            {"feed_forward.gate_proj.", "ffn_gate."},
                            {"feed_forward.up_proj.", "ffn_up."},
                            {"feed_forward.down_proj.", "ffn_down."},
                            {"mamba.in_proj.", "ssm_in."},
                            {"mamba.conv1d.", "ssm_conv1d."},
                            {"mamba.dt_bias", "ssm_dt.bias"},
                            {"mamba.A_log", "ssm_a"},
                            {"mamba.D", "ssm_d"},
                            {"mamba.out_proj.", "ssm_out."},
                            {"model.layers.", "blk."}};
  return Renamed(std::move(name), parts);
}

// The multipliers of the reference, by the tensors that they go into.
float MultiplierOf(const std::string& name) {
  const std::pair<const char*, float> multipliers[] = {
      {"embed_tokens", 2.5f},  {"lm_head", 0.6f}, {"down_proj", 0.6f}, {"gate_proj", 0.85f},      {"q_proj", 1.2f},
      {"k_proj", 0.7f * 1.2f}, {"v_proj", 1.2f},  {"o_proj", 0.9375f}, {"mamba.out_proj", 0.75f}, {"in_proj", 1.25f}};
  for (const auto& [part, multiplier] : multipliers) {
    if (name.find(part) != std::string::npos) return multiplier;
  }
  return 1.0f;
}

// The projection's parts, x, z, B, C and time steps, have one more each.
std::string WithPartsMultiplied(const std::string& bytes) {
  constexpr size_t kCols = 60;
  const std::pair<size_t, float> parts[] = {{96, 0.7f}, {96, 0.5f}, {12, 0.9f}, {12, 1.3f}, {6, 0.8f}};
  std::string multiplied;
  for (const auto& [rows, multiplier] : parts) {
    const std::string part = bytes.substr(multiplied.size(), rows * kCols * sizeof(float));
    multiplied += MappedFloats(part, [by = multiplier](float x) { return x * by; });
  }
  REQUIRE(multiplied.size() == bytes.size());
  return multiplied;
}

std::vector<NewGgufTensor> ConvertedTensors() {
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath("falcon_h1/model.safetensors")).Tensors()) {
    const auto ends = [&](const char* end) { return tensor.name.ends_with(end); };
    std::vector<uint64_t> shape = tensor.shape;
    if (ends("conv1d.weight")) shape = {shape[0], shape[2]};
    if (ends("mamba.A_log") || ends("mamba.D")) shape = {shape[0], 1};
    const float multiplier = MultiplierOf(tensor.name);
    std::string bytes = ends("mamba.A_log")
                            ? WithDecays(tensor.bytes)
                            : MappedFloats(tensor.bytes, [multiplier](float x) { return x * multiplier; });
    if (ends("in_proj.weight")) bytes = WithPartsMultiplied(bytes);
    converted.push_back({Converted(tensor.name), 0, shape, bytes});
  }
  return converted;
}

GgufValues Metadata(uint32_t inner_size = 96, uint32_t groups = 1) {
  return GgufValues()
      .String("general.architecture", "falcon-h1")
      .U32("falcon-h1.block_count", 3)
      .U32("falcon-h1.context_length", 256)
      .U32("falcon-h1.embedding_length", 60)
      .U32("falcon-h1.feed_forward_length", 76)
      .U32("falcon-h1.attention.head_count", 4)
      .U32("falcon-h1.attention.head_count_kv", 2)
      .U32("falcon-h1.attention.key_length", 20)
      .U32("falcon-h1.attention.value_length", 20)
      .F32("falcon-h1.attention.layer_norm_rms_epsilon", 1e-5f)
      .F32("falcon-h1.rope.freq_base", 1e11f)
      .U32("falcon-h1.ssm.conv_kernel", 4)
      .U32("falcon-h1.ssm.state_size", 12)
      .U32("falcon-h1.ssm.group_count", groups)
      .U32("falcon-h1.ssm.time_step_rank", 6)
      .U32("falcon-h1.ssm.inner_size", inner_size);
}

TEST_CASE("Falcon-H1 from GGUF, with its multipliers in the weights, gives the recorded answers") {
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, Kept("falcon_h1", GgufImage(Metadata(), ConvertedTensors())));
  const auto model = LoadAnyModel(path, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  FalconH1Sizes sizes = {.model_dim = 60,
                         .vocab_size = 264,
                         .layers = 3,
                         .feed_forward_dim = 76,
                         .heads = 4,
                         .kv_heads = 2,
                         .head_dim = 20};
  sizes.mamba.heads = 6, sizes.mamba.head_dim = 16, sizes.mamba.state_dim = 12, sizes.mamba.groups = 1;
  sizes.mamba.conv_width = 4, sizes.mamba.has_norm = false;
  sizes.rope.base = double{1e11f};
  CHECK(model->spec() == FalconH1Spec(sizes));
  const ReferenceTensors reference(GoldenPath("falcon_h1/golden.safetensors"));
  CheckRows(*model, reference.Tokens("input_ids", 0), Want::kLogits, reference.Floats("logits", 0));
}

TEST_CASE("a Config with the multipliers of Falcon-H1 refuses weights that they have gone into") {
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, GgufImage(Metadata(), ConvertedTensors()));
  const ModelSpec multiplied = DescribeModel(GoldenPath("falcon_h1"))->spec;
  ModelSpec mixer = multiplied;  // with multipliers of its own alone
  mixer.embedding_multiplier = mixer.logits_scaling = 1.0f;
  for (const ModelSpec& spec : {multiplied, mixer}) {
    CheckError(LoadWeights(path, spec, ""), ErrorCode::kInvalidArgument,
               path.string() + ": GGUF files of falcon-h1 have weights that the multipliers have gone into");
  }
}

TEST_CASE("a norm of what Mamba-2 gives is there where the file has one") {
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  std::vector<NewGgufTensor> tensors = ConvertedTensors();
  for (const char* const layer : {"0", "1", "2"}) {
    const std::vector<float> ones(96, 1.0f);
    tensors.push_back({std::string("blk.") + layer + ".ssm_norm.weight", 0, {2, 48}, BytesOf(ones)});
  }
  WriteFile(path, GgufImage(Metadata(), tensors));
  const auto described = DescribeModel(path);
  REQUIRE(described);
  CHECK(described->spec.blocks[0].layers[0].As<Mamba2>()->has_norm);
  CHECK(LoadWeights(path, described->spec, "").has_value());
}

TEST_CASE("sizes of Falcon-H1 that cannot be are refused with a sentence") {
  const auto check = [](const GgufValues& metadata, const std::string& sentence) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(metadata, ConvertedTensors()));
    CheckError(DescribeModel(path), ErrorCode::kDataLoss, path.string() + ": metadata: falcon-h1." + sentence);
  };
  check(Metadata(97), "ssm.inner_size must be a multiple of ssm.time_step_rank, but is 97");
  check(Metadata(96, 4), "ssm.group_count must be a divisor of ssm.time_step_rank, but is 4");
}

}  // namespace falcon_h1_gguf_test
}  // namespace skald::testing
