// SPDX-License-Identifier: Apache-2.0
//
// Gemma 3n as llama.cpp's converter writes it: the same weights to the bit, and the same model, as from safetensors.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace gemma3n_gguf_test {

constexpr uint64_t kVocabulary = 320;

// The converter's name for a tensor of the checkpoint.
std::string Converted(std::string name) {
  const NamePart parts[] = {{"model.embed_tokens_per_layer.", "per_layer_token_embd."},
                            {"model.per_layer_model_projection.", "per_layer_model_proj."},
                            {"model.per_layer_projection_norm.", "per_layer_proj_norm."},
                            {"post_per_layer_input_norm.", "post_norm."},
                            {"per_layer_input_gate.", "inp_gate."},
                            {"per_layer_projection.", "proj."},
                            {"altup.correction_coefs.", "altup_correct_coef."},
                            {"altup.correct_output_scale", "altup_correct_scale.weight"},
                            {"altup.prediction_coefs.", "altup_predict_coef."},
                            {"altup.modality_router.", "altup_router."},
                            {"altup.router_norm.", "altup_router_norm."},
                            {"laurel.linear_left.", "laurel_l."},
                            {"laurel.linear_right.", "laurel_r."},
                            {"laurel.post_laurel_norm.", "laurel_post_norm."}};
  name = Renamed(name, parts);
  return GgufName(name, /*has_post_norms=*/true);
}

// The checkpoint's tensors, with embeddings of each layer for all tokens, as the converter pads them.
std::vector<NewTensor> PaddedTensors() {
  std::vector<NewTensor> tensors = RawFile(GoldenPath("gemma3n/model.safetensors")).Tensors();
  for (NewTensor& tensor : tensors) {
    if (tensor.name != "model.embed_tokens_per_layer.weight") continue;
    tensor.bytes.resize(tensor.bytes.size() / tensor.shape[0] * kVocabulary);
    tensor.shape[0] = kVocabulary;
  }
  return tensors;
}

// Projections of streams arrive as one stack of those to them, and one of those back.
std::vector<NewGgufTensor> ConvertedTensors() {
  std::vector<NewGgufTensor> converted;
  std::map<std::string, std::string> stacks;
  for (const NewTensor& tensor : PaddedTensors()) {
    if (tensor.name.starts_with("model.altup_projections.")) {
      stacks["altup_proj.weight"] += tensor.bytes;
    } else if (tensor.name.starts_with("model.altup_unembed_projections.")) {
      stacks["altup_unembd_proj.weight"] += tensor.bytes;
    } else {
      converted.push_back({Converted(tensor.name), 0, tensor.shape, tensor.bytes});
    }
  }
  for (const auto& [name, bytes] : stacks) converted.push_back({name, 0, {3, 48, 48}, bytes});
  return converted;
}

GgufValues Metadata() {
  constexpr uint32_t kInt32 = 5, kFloat32 = 6, kBool = 7;
  constexpr float kAll = -std::numeric_limits<float>::infinity(), kMost = 1.64485359f;
  GgufValues values;
  values.String("general.architecture", "gemma3n").U32("gemma3n.block_count", 4).U32("gemma3n.embedding_length", 48);
  values.Numbers("gemma3n.feed_forward_length", kInt32, std::vector<int32_t>{76, 76, 92, 76});
  values.Numbers("gemma3n.activation_sparsity_scale", kFloat32, std::vector<float>{kMost, kAll, kMost, kAll});
  values.U32("gemma3n.attention.head_count", 4).U32("gemma3n.attention.head_count_kv", 2);
  values.U32("gemma3n.attention.key_length", 12).U32("gemma3n.attention.value_length", 12);
  values.U32("gemma3n.attention.sliding_window", 9).U32("gemma3n.attention.shared_kv_layers", 2);
  values.Numbers("gemma3n.attention.sliding_window_pattern", kBool, std::vector<uint8_t>{1, 0, 1, 0});
  values.U32("gemma3n.embedding_length_per_layer_input", 10);
  values.U32("gemma3n.altup.active_idx", 0).U32("gemma3n.altup.num_inputs", 4);
  return values.F32("gemma3n.attention.layer_norm_rms_epsilon", 1e-6f).F32("gemma3n.rope.freq_base", 1e6f);
}

TEST_CASE("Gemma 3n arrives from GGUF as from safetensors") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf", padded = folder.path() / "model.safetensors";
  WriteFile(path, Kept("gemma3n", GgufImage(Metadata(), ConvertedTensors())));
  WriteFile(padded, SafetensorsImage(PaddedTensors()));
  const auto described = DescribeModel(path), published = DescribeModel(GoldenPath("gemma3n"));
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  REQUIRE(published);
  ModelSpec spec = published->spec;
  spec.per_layer_vocab = 0;
  CHECK(described->model_type == published->model_type);
  CHECK(described->spec == spec);
  const auto weights = LoadWeights(path, described->spec, "", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  const auto expected = LoadWeights(padded, spec, "", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  CHECK(SameWeights(*weights, *expected));
}

}  // namespace gemma3n_gguf_test
}  // namespace skald::testing
