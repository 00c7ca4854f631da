// SPDX-License-Identifier: Apache-2.0
//
// LFM2 as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/gguf_config.h"
#include "skald/families/lfm2/lfm2.h"
#include "skald/model/load.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_lfm2.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace lfm2_gguf_test {

// The converter's name for a tensor of the checkpoint.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.embedding_norm.", "token_embd_norm."},
                            {"model.layers.", "blk."},
                            {"operator_norm.", "attn_norm."},
                            {"conv.conv.", "shortconv.conv."},
                            {"conv.in_proj.", "shortconv.in_proj."},
                            {"conv.out_proj.", "shortconv.out_proj."},
                            {"self_attn.out_proj.", "attn_output."},
                            {"self_attn.q_layernorm.", "attn_q_norm."},
                            {"self_attn.k_layernorm.", "attn_k_norm."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"feed_forward.gate.", "ffn_gate_inp."},
                            {"feed_forward.expert_bias", "exp_probs_b.bias"},
                            {"feed_forward.experts.", "block_sparse_moe.experts."},
                            {"feed_forward.w1.", "ffn_gate."},
                            {"feed_forward.w2.", "ffn_down."},
                            {"feed_forward.w3.", "ffn_up."}};
  return Renamed(std::move(name), parts);
}

std::vector<NewGgufTensor> GoldenTensors(const std::string& folder = "lfm2") {
  std::vector<NewGgufTensor> tensors;
  for (const NewTensor& tensor : RawFile(GoldenPath(folder + "/model.safetensors")).Tensors()) {
    std::vector<uint64_t> shape = tensor.shape;
    if (shape.size() == 3) shape = {shape[0], shape[2]};  // the taps, [channels, 1, taps]
    AddConverted({Converted(tensor.name), 0, shape, tensor.bytes}, tensors);
  }
  return tensors;
}

GgufValues Metadata(const std::vector<int32_t>& kv_heads, const std::string& of = "lfm2",
                    uint32_t feed_forward_dim = 72) {
  return GgufValues()
      .String("general.architecture", of)
      .U32(of + ".block_count", 5)
      .U32(of + ".embedding_length", 60)
      .U32(of + ".feed_forward_length", feed_forward_dim)
      .U32(of + ".attention.head_count", 6)
      .Numbers(of + ".attention.head_count_kv", 5, kv_heads)
      .U32(of + ".shortconv.l_cache", 3)
      .F32(of + ".rope.freq_base", 1e6f)
      .F32(of + ".attention.layer_norm_rms_epsilon", 1e-5f);
}

GgufValues MoeMetadata(uint32_t gating_function = 2) {
  return Metadata({0, 0, 2, 0, 2}, "lfm2moe", 68)
      .U32("lfm2moe.expert_count", 8)
      .U32("lfm2moe.expert_used_count", 3)
      .U32("lfm2moe.expert_feed_forward_length", 20)
      .U32("lfm2moe.leading_dense_block_count", 2)
      .U32("lfm2moe.expert_gating_func", gating_function);
}

// Checks that a file of these values and of the tensors of `folder` is the model of `folder`.
void CheckArrives(const std::string& folder, const GgufValues& metadata, const ModelSpec& spec) {
  const TemporaryFolder written;
  const auto path = written.path() / "model.gguf";
  WriteFile(path, Kept(folder, GgufImage(metadata, GoldenTensors(folder))));
  const auto checkpoint = Checkpoint::Open(path);
  REQUIRE(checkpoint);
  const auto models = ModelsOf(*checkpoint->gguf());
  REQUIRE_MESSAGE(models.has_value(), models.error().message);
  REQUIRE(models->size() == 1);
  CHECK(models->front().model_type == folder);
  CHECK(models->front().spec == spec);
  const auto expected = LoadWeights(GoldenPath(folder + "/model.safetensors"), spec, folder, {.dtype = DType::kF32});
  const auto weights = LoadWeights(path, spec, folder, {.dtype = DType::kF32});
  REQUIRE(expected);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *expected));
}

TEST_CASE("LFM2 arrives from GGUF as from safetensors") {
  CheckArrives("lfm2", Metadata({0, 0, 2, 0, 2}), Lfm2Spec(kGoldenLfm2));
}

TEST_CASE("LFM2 with experts arrives from GGUF as from safetensors") {
  CheckArrives("lfm2_moe", MoeMetadata(), Lfm2Spec(GoldenLfm2Moe()));
}

TEST_CASE("experts of LFM2 that are weighed in another way are refused") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(MoeMetadata(1), GoldenTensors("lfm2_moe")));
  CheckError(ModelsOf(*Checkpoint::Open(path)->gguf()), ErrorCode::kUnsupported,
             "metadata: lfm2moe.expert_gating_func is 1; Skald supports only 2");
}

TEST_CASE("heads of LFM2's layers that cannot be are refused with a sentence") {
  for (const auto& kv_heads : {std::vector<int32_t>{0, 0, 2, 0}, {0, 0, 2, 0, 3}, {0, 0, -2, 0, 2}, {0, 7, 0, 0, 7}}) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(Metadata(kv_heads), GoldenTensors()));
    const auto models = ModelsOf(*Checkpoint::Open(path)->gguf());
    REQUIRE_FALSE(models.has_value());
    CHECK(models.error().code == ErrorCode::kDataLoss);
    CHECK(models.error().message.find("lfm2.attention.head_count_kv must be an array of block_count whole numbers, the "
                                      "same but for those that are 0, but is") != std::string::npos);
  }
}

}  // namespace lfm2_gguf_test
}  // namespace skald::testing
