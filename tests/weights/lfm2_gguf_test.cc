// SPDX-License-Identifier: Apache-2.0
//
// LFM2 as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/configs/families/lfm2.h"
#include "skald/configs/gguf_config.h"
#include "skald/model/load.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_lfm2.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace lfm2_gguf_test {

// What the converter calls a tensor of the checkpoint.
std::string Converted(std::string name) {
  const std::pair<const char*, const char*> parts[] = {{"model.embed_tokens.", "token_embd."},
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
                                                       {"feed_forward.w1.", "ffn_gate."},
                                                       {"feed_forward.w2.", "ffn_down."},
                                                       {"feed_forward.w3.", "ffn_up."}};
  for (const auto& [from, to] : parts) {
    if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, std::string(from).size(), to);
  }
  return name;
}

std::vector<NewGgufTensor> GoldenTensors() {
  std::vector<NewGgufTensor> tensors;
  for (const NewTensor& tensor : RawFile(GoldenPath("lfm2/model.safetensors")).Tensors()) {
    std::vector<uint64_t> shape = tensor.shape;
    if (shape.size() == 3) shape = {shape[0], shape[2]};  // the taps, [channels, 1, taps]
    tensors.push_back({Converted(tensor.name), 0, shape, tensor.bytes});
  }
  return tensors;
}

GgufValues Metadata(const std::vector<int32_t>& kv_heads) {
  return GgufValues()
      .String("general.architecture", "lfm2")
      .U32("lfm2.block_count", 5)
      .U32("lfm2.embedding_length", 60)
      .U32("lfm2.feed_forward_length", 72)
      .U32("lfm2.attention.head_count", 6)
      .Numbers("lfm2.attention.head_count_kv", 5, kv_heads)
      .U32("lfm2.shortconv.l_cache", 3)
      .F32("lfm2.rope.freq_base", 1e6f)
      .F32("lfm2.attention.layer_norm_rms_epsilon", 1e-5f);
}

TEST_CASE("LFM2 arrives from GGUF as from safetensors") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(Metadata({0, 0, 2, 0, 2}), GoldenTensors()));
  const auto checkpoint = Checkpoint::Open(path);
  REQUIRE(checkpoint);
  const auto models = ModelsOf(*checkpoint->gguf());
  REQUIRE_MESSAGE(models.has_value(), models.error().message);
  REQUIRE(models->size() == 1);
  CHECK(models->front().model_type == "lfm2");
  const ModelSpec spec = Lfm2Spec(kGoldenLfm2);
  CHECK(models->front().spec == spec);
  const auto expected = LoadWeights(GoldenPath("lfm2/model.safetensors"), spec, "lfm2", {.dtype = DType::kF32});
  const auto weights = LoadWeights(path, spec, "lfm2", {.dtype = DType::kF32});
  REQUIRE(expected);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *expected));
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
