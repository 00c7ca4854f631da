// SPDX-License-Identifier: Apache-2.0
//
// Heads for further tokens, from folders and from GGUF files: their logits, and the guesses that follow, against those
// of an independent program (make_heads.py), in f32.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/engine/speculation/cache_head_drafter.h"
#include "skald/families/config_json.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/model/heads/published_head.h"
#include "skald/model/load_any.h"
#include "skald/model/workspace.h"
#include "skald/open/model_info.h"
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

// A folder with the shards of a model and of its head, to which more tensors may be added.
void WriteFolder(const std::string& family, const std::filesystem::path& folder,
                 const std::vector<NewTensor>& more = {}) {
  std::string index = R"({"weight_map": {)";
  for (const char* const shard : {"model.safetensors", "mtp.safetensors"}) {
    const std::filesystem::path file = folder / (std::string("part-") + shard);
    std::vector<NewTensor> tensors = RawFile(GoldenPath(family + "/" + shard)).Tensors();
    if (shard != std::string_view("model.safetensors")) tensors.insert(tensors.end(), more.begin(), more.end());
    WriteFile(file, SafetensorsImage(tensors));
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

TEST_CASE("a tensor that a head has no place for is refused, but for copies and further heads") {
  const auto load = [](const std::string& family, const std::string& name) {
    const TemporaryFolder folder;
    WriteFolder(family, folder.path(), {{name, "F32", {1}, std::string(4, '\1')}});
    const OpenedModel opened = *OpenedModel::Open(folder.path());
    const AnyModel model = *LoadAnyModel(opened);
    const auto head = LoadPredictionHead(opened, model);
    return head ? Result<void>() : Result<void>(Failure(head.error()));
  };
  const std::string glm = "model.layers." + std::to_string(NumLayers(LoadAnyModel(GoldenPath("glm4_moe"))->spec()));
  const std::pair<const char*, std::string> refused[] = {
      {"glm4_moe", glm + ".mlp.seldom_seen.weight"}, {"qwen3_next", "mtp.layers.0.seldom_seen.weight"},
      {"qwen3_next", "mtp.embed_tokens.weight"},     {"nemotron_h_moe", "mtp.layers.1.seldom_seen.weight"},
      {"nemotron_h_moe", "mtp.seldom_seen.weight"},  {"mimo", "model.mtp_layers.0.seldom_seen.weight"}};
  for (const auto& [family, name] : refused) {
    CheckError(load(family, name), ErrorCode::kUnsupported, name + ": a head like this has no such tensor");
  }
  CHECK(load("glm4_moe", glm + ".embed_tokens.weight"));
  CHECK(load("glm4_moe", glm + ".shared_head.head.weight"));
  CHECK(load("qwen3_next", "mtp.layers.1.seldom_seen.weight"));
  CHECK(load("mimo", "model.mtp_layers.1.seldom_seen.weight"));
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

// Compares a drafter of Gemma 4 with what was recorded of it: names in the file begin with `which`.
void CheckAssistant(const AnyModel& model, const DraftHead& head, const std::string& which) {
  const ReferenceTensors reference(GoldenPath("gemma4/golden.safetensors"));
  const ReferenceTensors of_head(GoldenPath("gemma4/assistant/golden.safetensors"));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  CHECK(head.reads_cache());
  const SamplerSettings greedy = {.temperature = 0.0f};
  const std::shared_ptr<BlockPool> pool = *CreateBlockPool(model.layout(), kExact);
  std::vector<std::vector<int32_t>> texts;
  std::vector<std::vector<float>> rows;
  std::vector<KVCache> caches;
  std::vector<DraftTask> tasks;
  for (size_t row = 0; row < 2; ++row) {
    std::vector<int32_t> known = texts.emplace_back(reference.Tokens("input_ids", row));
    known.pop_back();
    rows.push_back(RowsFor(head, model, known));
    REQUIRE(model.Forward(caches.emplace_back(*CreateKVCache(pool)), known, workspace));
  }
  for (size_t row = 0; row < 2; ++row) {
    tasks.push_back({row, texts[row], &greedy, 3, {0, rows[row]}, &caches[row]});
    const std::vector<int32_t> last = {texts[row].back()};
    const std::span<const float> before = std::span(rows[row]).last(head.row_floats());
    AlignedBuffer<float> inputs;
    REQUIRE(head.Inputs(last, before, DraftHead::From::kModel, workspace, inputs));
    const auto dim = static_cast<size_t>(head.body().spec().model_dim);
    std::vector<float> stream(dim), logits;
    const auto begin = [&](const HookRows& at) { std::copy_n(inputs.data(), dim, at.data); };
    const auto end = [&](const HookRows& at) { std::ranges::copy(at.row(0), stream.begin()); };
    const std::vector<Want> wants = {Want::kNothing};
    const WholeText text = {.tokens = last, .wants = wants, .beside = &caches[row]};
    const size_t blocks = head.body().spec().blocks.size();
    REQUIRE(
        head.body().Encode({&text, 1}, workspace, {.hooks = {{StreamBefore(0), begin}, {StreamBefore(blocks), end}}}));
    REQUIRE(head.Logits(stream, workspace, logits));
    const std::vector<float> expected = Finite(of_head.Floats(which + "logits", row));
    CHECK(LargestDifference(Finite(logits), expected) <= 1e-4f * std::ranges::max(expected));
  }
  CacheHeadDrafter drafter(head, workspace);
  REQUIRE(drafter.Draft(tasks));
  for (size_t row = 0; row < 2; ++row) CHECK(tasks[row].drafts == of_head.Tokens(which + "guesses", row));
  // A cache of another length is not that of the row.
  REQUIRE(caches[0].Truncate(caches[0].size() - 1));
  for (DraftTask& task : tasks) task.drafts.clear(), task.rows = {};
  REQUIRE(drafter.Draft(tasks));
  CHECK(tasks[0].drafts.empty());
  CHECK(tasks[1].drafts == of_head.Tokens(which + "guesses", 1));
}

TEST_CASE("drafters of Gemma 4 compute what they should") {
  const std::filesystem::path folder = GoldenPath("gemma4/assistant");
  const AnyModel model = *LoadAnyModel(GoldenPath("gemma4"), {.dtype = DType::kF32});
  CHECK(HasAssistantHead(folder));
  CHECK_FALSE(HasEagleHead(folder));
  const auto head = LoadAssistantHead(folder, model, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(head, head.error().message);
  CheckAssistant(model, *head, "");
}

// A folder's drafter as llama.cpp's converter writes it (conversion/gemma.py of
// https://github.com/ggml-org/llama.cpp): without groups of tokens.
void WriteAssistantFile(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const auto config = nlohmann::json::parse(*ReadSmallFile(folder / "config.json", kMaxConfigJson));
  const nlohmann::json& text = config["text_config"];
  const uint32_t layers = text["num_hidden_layers"], width = text["head_dim"];
  const uint32_t full = text["per_layer_config"]["3"]["head_dim"], kv_heads = text["num_key_value_heads"];
  std::vector<NewGgufTensor> tensors;
  for (const NewTensor& tensor : RawFile(folder / "model.safetensors").Tensors()) {
    if (tensor.name.starts_with("masked_embedding.")) continue;
    std::string name = GgufName(tensor.name, /*has_post_norms=*/true);
    if (name.ends_with(".layer_scalar")) name.replace(name.size() - 12, 12, "layer_output_scale.weight");
    if (name.ends_with("_projection.weight")) name.insert(0, "nextn.");
    tensors.push_back({name, 0, tensor.shape, tensor.bytes});
  }
  std::vector<float> divisors(full / 2, 1e30f);
  std::fill_n(divisors.begin(), full / 8, 1.0f);
  tensors.push_back({"rope_freqs.weight", 0, {divisors.size()}, BytesOf(divisors)});
  std::vector<uint8_t> slides;
  for (const auto& type : text["layer_types"]) slides.push_back(type == "sliding_attention");
  const std::string name = "gemma4-assistant.";
  const GgufValues values = GgufValues()
                                .String("general.architecture", "gemma4-assistant")
                                .U32(name + "block_count", layers)
                                .U32(name + "nextn_predict_layers", layers)
                                .U32(name + "attention.shared_kv_layers", layers)
                                .U32(name + "context_length", 256)
                                .U32(name + "embedding_length", text["hidden_size"])
                                .U32(name + "embedding_length_out", config["backbone_hidden_size"])
                                .U32(name + "embedding_length_per_layer_input", 0)
                                .U32(name + "feed_forward_length", text["intermediate_size"])
                                .U32(name + "attention.head_count", text["num_attention_heads"])
                                .U32(name + "attention.head_count_kv", kv_heads)
                                .U32(name + "attention.key_length", full)
                                .U32(name + "attention.value_length", full)
                                .U32(name + "attention.key_length_swa", width)
                                .U32(name + "attention.value_length_swa", width)
                                .U32(name + "attention.sliding_window", text["sliding_window"])
                                .Numbers(name + "attention.sliding_window_pattern", 7, slides)
                                .U32(name + "rope.dimension_count", full)
                                .U32(name + "rope.dimension_count_swa", width)
                                .F32(name + "rope.freq_base", 1e6f)
                                .F32(name + "rope.freq_base_swa", 1e4f)
                                .F32(name + "attention.layer_norm_rms_epsilon", text["rms_norm_eps"]);
  WriteFile(file, GgufImage(values, tensors));
}

TEST_CASE("drafters of Gemma 4 in GGUF files compute what those in folders do with all tokens") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "assistant.gguf";
  WriteAssistantFile(GoldenPath("gemma4/assistant"), file);
  const AnyModel model = *LoadAnyModel(GoldenPath("gemma4"), {.dtype = DType::kF32});
  CHECK(HasAssistantHead(file));
  const auto head = LoadAssistantHead(file, model, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(head, head.error().message);
  CheckAssistant(model, *head, "all_");
}

TEST_CASE("a drafter of Gemma 4 for another model is refused, and one that says what is not known") {
  CHECK_FALSE(HasAssistantHead(GoldenPath("gemma4")));
  const AnyModel model = *LoadAnyModel(GoldenPath("gemma4")), other = *LoadAnyModel(GoldenPath("gemma3"));
  CheckError(LoadAssistantHead(GoldenPath("gemma4/assistant"), other), ErrorCode::kInvalidArgument, "a width of 60");
  CheckError(LoadAssistantHead(GoldenPath("gemma4"), model), ErrorCode::kNotFound, "a drafter of Gemma 4");
  const TemporaryFolder folder;
  std::filesystem::copy_file(GoldenPath("gemma4/assistant/model.safetensors"), folder.path() / "model.safetensors");
  const auto change = [&](const nlohmann::json::json_pointer& at, const nlohmann::json& value) {
    auto config = nlohmann::json::parse(*ReadSmallFile(GoldenPath("gemma4/assistant/config.json"), kMaxConfigJson));
    config[at] = value;
    WriteFile(folder.path() / "config.json", config.dump());
    return LoadAssistantHead(folder.path(), model);
  };
  using Pointer = nlohmann::json::json_pointer;
  CheckError(change(Pointer("/text_config/head_dim"), 8), ErrorCode::kInvalidArgument, "reads keys and values");
  CheckError(change(Pointer("/text_config/rope_parameters/sliding_attention/rope_theta"), 1e5),
             ErrorCode::kInvalidArgument, "reads keys and values");
  CheckError(change(Pointer("/num_centroids"), "12"), ErrorCode::kDataLoss, "num_centroids: expected a whole number");
  CheckError(change(Pointer("/num_centroids"), 7), ErrorCode::kInvalidArgument, "do not fit the vocabulary");
  CheckError(change(Pointer("/text_config/hidden_size_per_layer_input"), 4), ErrorCode::kUnsupported, "");
  CheckError(change(Pointer("/depth_gates"), 2), ErrorCode::kUnsupported, "depth_gates");
}

TEST_CASE("a head of EAGLE-3 for another model is refused") {
  CHECK_FALSE(HasEagleHead(GoldenPath("llama")));
  const AnyModel model = *LoadAnyModel(GoldenPath("qwen3"));
  CheckError(LoadEagleHead(GoldenPath("llama/eagle3"), model), ErrorCode::kInvalidArgument, "a vocabulary of 272");
  CheckError(LoadEagleHead(GoldenPath("llama"), model), ErrorCode::kNotFound, "EAGLE-3");
}

TEST_CASE("a head that is published by itself is known by its folder and by the file in it, and is no model") {
  const AnyModel llama = *LoadAnyModel(GoldenPath("llama")), gemma = *LoadAnyModel(GoldenPath("gemma4"));
  const auto check = [](const std::string& folder, const AnyModel& model, const std::string& what) {
    const std::filesystem::path file = GoldenPath(folder + "/model.safetensors");
    for (const std::filesystem::path& path : {GoldenPath(folder), file}) {
      CHECK(PublishedHeadAt(path) == what);
      const auto head = LoadPublishedHead(path, model);
      CHECK_MESSAGE(head, head.error().message);
    }
    CheckError(IdentifyModel(GoldenPath(folder)), ErrorCode::kInvalidArgument, "is " + what + ", which guesses tokens");
  };
  check("llama/eagle3", llama, "a head of EAGLE-3");
  check("gemma4/assistant", gemma, "a drafter of Gemma 4");
  const TemporaryFolder folder;
  WriteAssistantFile(GoldenPath("gemma4/assistant"), folder.path() / "assistant.gguf");
  CheckError(IdentifyModel(folder.path() / "assistant.gguf"), ErrorCode::kInvalidArgument, "is a drafter of Gemma 4");
  CHECK(PublishedHeadAt(GoldenPath("llama")) == nullptr);
  CheckError(LoadPublishedHead(GoldenPath("llama"), llama), ErrorCode::kNotFound, "expected a head of EAGLE-3 or");
}

// Of a head whose groups are not whole panels, and of one whose groups are.
TEST_CASE("a drafter of Gemma 4 guesses from the tokens of its likeliest groups as if all had been multiplied") {
  const AnyModel model = *LoadAnyModel(GoldenPath("gemma4"));
  Workspace workspace = *CreateWorkspace({.threads = 2});
  const auto vocab = static_cast<size_t>(model.spec().vocab_size);
  for (const DType type : {DType::kF32, DType::kQ8_0}) {
    for (size_t groups = 1; groups <= vocab / 2; ++groups) {
      if (vocab % groups != 0) {
        CheckError(RandomAssistantHead(model, 9, type, groups), ErrorCode::kInvalidArgument, "do not divide");
        continue;
      }
      const DraftHead all = *RandomAssistantHead(model, 9, type), some = *RandomAssistantHead(model, 9, type, groups);
      const auto dim = static_cast<size_t>(all.body().spec().model_dim);
      std::vector<float> rows(2 * dim), expected, likely;
      for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i * i));
      REQUIRE(all.Logits(rows, workspace, expected));
      REQUIRE(some.Logits(rows, workspace, likely));
      REQUIRE(likely.size() == 2 * vocab);
      size_t finite = 0;
      for (size_t i = 0; i < likely.size(); ++i) {
        if (!std::isfinite(likely[i])) continue;
        CHECK(likely[i] == expected[i]);
        ++finite;
      }
      CHECK(finite == 2 * (vocab / groups) * std::max<size_t>(groups / 64, 1));
    }
  }
}

}  // namespace heads_test
}  // namespace skald::testing
