// SPDX-License-Identifier: Apache-2.0
//
// Heads of EAGLE-3, from folders and from GGUF files: their logits, and the guesses that follow, against those of an
// independent program (make_heads.py), in f32; the forms that they are published in, and which of these are refused.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/model/load_any.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {
namespace eagle_test {

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

// The golden head of Llama with another config.json, names of its layer that begin so, and one number less in a tensor.
void WriteEagleFolder(const nlohmann::json& config, const std::string& layer, const std::filesystem::path& folder,
                      const std::vector<NewTensor>& more = {}, std::string_view shortened = "") {
  std::vector<NewTensor> tensors = RawFile(GoldenPath("llama/eagle3/model.safetensors")).Tensors();
  for (NewTensor& tensor : tensors) {
    if (tensor.name == shortened) {
      tensor.bytes.resize(tensor.bytes.size() - tensor.bytes.size() / tensor.shape[0]);
      --tensor.shape[0];
    }
    if (tensor.name.starts_with("midlayer.")) tensor.name.replace(0, 9, layer);
  }
  tensors.insert(tensors.end(), more.begin(), more.end());
  WriteFile(folder / "model.safetensors", SafetensorsImage(tensors));
  WriteFile(folder / "config.json", config.dump());
}

nlohmann::json EagleConfigJson() {
  return nlohmann::json::parse(*ReadSmallFile(GoldenPath("llama/eagle3/config.json"), kMaxConfigJson));
}

// As the speculators library writes it.
nlohmann::json AsSpeculators(nlohmann::json layer) {
  nlohmann::json whole = {{"architectures", {"Eagle3Speculator"}},
                          {"auto_map", {{"", "eagle3.Eagle3SpeculatorConfig"}}},
                          {"speculators_model_type", "eagle3"},
                          {"speculators_version", "0.4.0"},
                          {"speculators_config", {{"algorithm", "eagle3"}}},
                          {"embed_requires_grad", false},
                          {"target_hidden_size", nullptr},
                          {"dtype", "bfloat16"},
                          {"transformers_version", "4.57.6"}};
  whole["eagle_aux_hidden_state_layer_ids"] = layer["eagle_config"]["eagle_aux_hidden_state_layer_ids"];
  for (const char* const name : {"draft_vocab_size", "norm_before_residual", "norm_before_fc", "tie_word_embeddings"}) {
    whole[name] = layer[name];
    layer.erase(name);
  }
  for (const char* const name : {"eagle_config", "architectures"}) layer.erase(name);
  layer.update({{"attention_bias", false}, {"mlp_bias", false}, {"pretraining_tp", 1}, {"rope_scaling", nullptr}});
  whole["transformer_layer_config"] = layer;
  return whole;
}

TEST_CASE("heads of EAGLE-3 are read in the forms that they are published in") {
  const AnyModel model = *LoadAnyModel(GoldenPath("llama"), {.dtype = DType::kF32});
  nlohmann::json nvidia = EagleConfigJson(), qwen = EagleConfigJson();
  nvidia["eagle_config"].update({{"use_aux_hidden_state", true},
                                 {"use_input_layernorm_in_first_layer", true},
                                 {"use_last_layernorm", true},
                                 {"use_mtp_layernorm", false},
                                 {"next_layer_regular", true},
                                 {"parallel_draft_step", 1},
                                 {"parallel_draft_heads_num_layers", nullptr}});
  qwen.update({{"attention_dropout", 0.0},
               {"max_window_layers", 36},
               {"rope_scaling", nullptr},
               {"sliding_window", nullptr},
               {"use_cache", true},
               {"use_sliding_window", false}});
  const nlohmann::json forms[] = {nvidia, qwen, AsSpeculators(EagleConfigJson())};
  for (const nlohmann::json& form : forms) {
    const bool is_speculators = form.contains("speculators_config");
    CAPTURE(form.dump());
    const TemporaryFolder folder;
    WriteEagleFolder(form, is_speculators ? "layers.0." : "midlayer.", folder.path());
    CHECK(HasEagleHead(folder.path()));
    const auto head = LoadEagleHead(folder.path(), model, {.dtype = DType::kF32});
    REQUIRE_MESSAGE(head, head.error().message);
    CheckHead(model, *head, "llama", "eagle3/golden.safetensors");
  }
}

TEST_CASE("heads of EAGLE-3 that differ in what is not read are refused") {
  const AnyModel model = *LoadAnyModel(GoldenPath("llama"));
  const auto load = [&](const nlohmann::json& config, const std::vector<NewTensor>& more = {},
                        std::string_view shortened = "") {
    const TemporaryFolder folder;
    WriteEagleFolder(config, "midlayer.", folder.path(), more, shortened);
    return LoadEagleHead(folder.path(), model);
  };
  const auto with = [&](const nlohmann::json& change) {
    nlohmann::json config = EagleConfigJson();
    config.merge_patch(change);
    return load(config);
  };
  for (const char* const name : {"fc_norm", "norm_output", "parallel_drafting"}) {
    CheckError(with({{name, true}}), ErrorCode::kUnsupported, name);
  }
  CheckError(with({{"model_type", "qwen3"}}), ErrorCode::kUnsupported, "model_type");
  CheckError(with({{"eagle_config", {{"use_aux_hidden_state", false}}}}), ErrorCode::kUnsupported, "use_aux");
  CheckError(with({{"eagle_config", {{"use_mtp_layernorm", true}}}}), ErrorCode::kUnsupported, "use_mtp_layernorm");
  CheckError(with({{"eagle_config", {{"seldom_seen", 3}}}}), ErrorCode::kUnsupported, "seldom_seen");
  CheckError(with({{"seldom_seen", 3}}), ErrorCode::kUnsupported, "seldom_seen");
  CheckError(with({{"num_hidden_layers", 2}}), ErrorCode::kUnsupported, "one layer");
  CheckError(with({{"norm_before_fc", 1}}), ErrorCode::kDataLoss, "norm_before_fc: expected true or false");
  for (const nlohmann::json& places : {nlohmann::json(2), nlohmann::json::array({-1}), nlohmann::json::array({1.5})}) {
    CheckError(with({{"eagle_config", {{"eagle_aux_hidden_state_layer_ids", places}}}}), ErrorCode::kDataLoss,
               "eagle_aux_hidden_state_layer_ids: expected an array of whole numbers");
  }
  CheckError(with({{"eagle_config", {{"eagle_aux_hidden_state_layer_ids", {0, 9}}}}}), ErrorCode::kInvalidArgument,
             "reads layers that the model does not have");
  CheckError(with({{"draft_vocab_size", 91}}), ErrorCode::kInvalidArgument,
             "lm_head.weight: has 90 rows, but draft_vocab_size is 91");
  CheckError(with({{"draft_vocab_size", "90"}}), ErrorCode::kDataLoss, "draft_vocab_size: expected a whole number");
  for (const auto& [name, message] : {std::pair("d2t", "d2t: expected I64, one for each of the output head's tokens"),
                                      std::pair("t2d", "t2d: expected one for each of the model's 272 tokens")}) {
    CheckError(load(EagleConfigJson(), {}, name), ErrorCode::kInvalidArgument, message);
  }
  CheckError(load(EagleConfigJson(), {{"fc.bias", "F32", {1}, std::string(4, '\0')}}), ErrorCode::kUnsupported,
             "fc.bias");
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

}  // namespace eagle_test
}  // namespace skald::testing
