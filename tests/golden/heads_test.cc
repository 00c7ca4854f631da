// SPDX-License-Identifier: Apache-2.0
//
// Heads for further tokens, from folders and from GGUF files: their logits, and the guesses that follow, against those
// of an independent program (make_heads.py), in f32.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/model/load_any.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {
namespace heads_test {

// A folder with the shards of a model and of its head.
void WriteFolder(const std::string& family, const std::filesystem::path& folder) {
  std::string index = R"({"weight_map": {)";
  for (const char* const shard : {"model.safetensors", "mtp.safetensors"}) {
    const std::filesystem::path file = GoldenPath(family + "/" + shard);
    std::filesystem::copy_file(file, folder / (std::string("part-") + shard));
    const Checkpoint shard_file = *Checkpoint::Open(file);
    for (const TensorView& tensor : shard_file.tensors()) {
      index += (index.back() == '{' ? "\"" : ", \"") + std::string(tensor.name) + R"(": "part-)" + shard + "\"";
    }
  }
  WriteFile(folder / "model.safetensors.index.json", index + "}}");
  std::filesystem::copy_file(GoldenPath(family + "/config.json"), folder / "config.json");
}

TEST_CASE("heads for further tokens compute what they should") {
  for (const char* const family : {"glm4_moe", "deepseek_v3", "qwen3_next", "qwen3_5", "nemotron_h_moe", "mimo"}) {
    CAPTURE(family);
    const TemporaryFolder folder;
    WriteFolder(family, folder.path());
    const OpenedModel opened = *OpenedModel::Open(folder.path());
    const auto model = LoadAnyModel(opened, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(model, model.error().message);
    const auto head = LoadPredictionHead(opened, *model, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(head, head.error().message);
    CheckHead(*model, *head, family, "mtp.golden.safetensors");
  }
}

TEST_CASE("a model without a head for further tokens says so") {
  const OpenedModel opened = *OpenedModel::Open(GoldenPath("glm4_moe"));
  const AnyModel model = *LoadAnyModel(opened);
  CheckError(LoadPredictionHead(opened, model), ErrorCode::kNotFound, "predict further tokens");
}

TEST_CASE("heads of EAGLE-3 compute what they should") {
  for (const char* const family : {"llama", "gpt_oss"}) {
    CAPTURE(family);
    const AnyModel model = *LoadAnyModel(GoldenPath(family), {.dtype = DType::kF32});
    const std::filesystem::path folder = GoldenPath(std::string(family) + "/eagle3");
    CHECK(HasEagleHead(folder));
    const auto head = LoadEagleHead(folder, model, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(head, head.error().message);
    CheckHead(model, *head, family, "eagle3/golden.safetensors");
  }
}

// A folder's head as llama.cpp's converter writes it (conversion/llama.py of https://github.com/ggml-org/llama.cpp).
void WriteEagleFile(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const auto config = nlohmann::json::parse(*ReadSmallFile(folder / "config.json", kMaxConfigJson));
  const size_t head_dim = config["head_dim"];
  std::vector<NewGgufTensor> tensors;
  for (const NewTensor& tensor : RawFile(folder / "model.safetensors").Tensors()) {
    const auto begins = [&](const char* start) { return tensor.name.starts_with(start); };
    std::string name = tensor.name, bytes = tensor.bytes;
    if (begins("midlayer.self_attn.q_proj.") || begins("midlayer.self_attn.k_proj.")) {
      bytes = WithPairsAdjacent(bytes, tensor.shape[0], head_dim);
    }
    if (begins("midlayer.")) name = GgufName("model.layers.0." + name.substr(9), /*has_post_norms=*/false);
    if (begins("midlayer.hidden_norm.")) name = "blk.0.attn_norm_2.weight";
    if (name == "norm.weight") name = "output_norm.weight";
    if (name == "lm_head.weight") name = "output.weight";
    if (name == "input_norm.weight") name = "enc.output_norm.weight";
    if (name == "t2d") continue;
    if (name != "d2t") {
      tensors.push_back({name, 0, tensor.shape, bytes});
      continue;
    }
    for (size_t i = 0; i < tensor.shape[0]; ++i) {  // ids, not distances
      int64_t id;
      std::memcpy(&id, &bytes[i * sizeof(id)], sizeof(id));
      id += static_cast<int64_t>(i);
      std::memcpy(&bytes[i * sizeof(id)], &id, sizeof(id));
    }
    tensors.push_back({name, 27, tensor.shape, bytes});
  }
  const std::vector<int32_t> places = config["eagle_config"]["eagle_aux_hidden_state_layer_ids"];
  const GgufValues values = GgufValues()
                                .String("general.architecture", "eagle3")
                                .U32("eagle3.block_count", 1)
                                .U32("eagle3.context_length", 256)
                                .U32("eagle3.embedding_length", config["hidden_size"])
                                .U32("eagle3.feed_forward_length", config["intermediate_size"])
                                .U32("eagle3.attention.head_count", config["num_attention_heads"])
                                .U32("eagle3.attention.head_count_kv", config["num_key_value_heads"])
                                .U32("eagle3.attention.key_length", config["head_dim"])
                                .U32("eagle3.attention.value_length", config["head_dim"])
                                .U32("eagle3.rope.dimension_count", config["head_dim"])
                                .U32("eagle3.vocab_size", config["vocab_size"])
                                .U32("eagle3.target_hidden_size", config["hidden_size"])
                                .F32("eagle3.rope.freq_base", config["rope_theta"])
                                .F32("eagle3.attention.layer_norm_rms_epsilon", config["rms_norm_eps"])
                                .Numbers("eagle3.target_layers", 5, places)
                                .Bool("eagle3.norm_before_residual", config["norm_before_residual"])
                                .Bool("eagle3.norm_before_fc", config["norm_before_fc"]);
  WriteFile(file, GgufImage(values, tensors));
}

TEST_CASE("heads of EAGLE-3 in GGUF files compute what those in folders do") {
  for (const char* const family : {"llama", "gpt_oss"}) {
    CAPTURE(family);
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "eagle3.gguf";
    WriteEagleFile(GoldenPath(std::string(family) + "/eagle3"), file);
    const AnyModel model = *LoadAnyModel(GoldenPath(family), {.dtype = DType::kF32});
    CHECK(HasEagleHead(file));
    const auto head = LoadEagleHead(file, model, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(head, head.error().message);
    CheckHead(model, *head, family, "eagle3/golden.safetensors");
    const AnyModel other = *LoadAnyModel(GoldenPath("mimo"));
    CheckError(LoadEagleHead(file, other), ErrorCode::kInvalidArgument, "a vocabulary of 2");
  }
}

TEST_CASE("a head of EAGLE-3 for another model is refused") {
  CHECK_FALSE(HasEagleHead(GoldenPath("llama")));
  const AnyModel model = *LoadAnyModel(GoldenPath("qwen3"));
  CheckError(LoadEagleHead(GoldenPath("llama/eagle3"), model), ErrorCode::kInvalidArgument, "a vocabulary of 272");
  CheckError(LoadEagleHead(GoldenPath("llama"), model), ErrorCode::kNotFound, "EAGLE-3");
}

}  // namespace heads_test
}  // namespace skald::testing
