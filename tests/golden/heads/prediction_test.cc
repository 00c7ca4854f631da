// SPDX-License-Identifier: Apache-2.0
//
// Heads for further tokens in the folders of their models: their logits, and the guesses that follow, against those of
// an independent program (make_heads.py), in f32.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/load_any.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {
namespace prediction_test {

constexpr const char *kEmbedding = "model.embed_tokens.weight", *kOutput = "lm_head.weight";

// A folder with the shards of a model and of its head, to which more tensors may be added. The model's embedding and
// output head may be `exchanged`.
void WriteFolder(const std::string& family, const std::filesystem::path& folder,
                 const std::vector<NewTensor>& more = {}, bool exchanged = false) {
  std::string index = R"({"weight_map": {)";
  for (const char* const shard : {"model.safetensors", "mtp.safetensors"}) {
    const std::filesystem::path file = folder / (std::string("part-") + shard);
    std::vector<NewTensor> tensors = RawFile(GoldenPath(family + "/" + shard)).Tensors();
    if (shard != std::string_view("model.safetensors")) tensors.insert(tensors.end(), more.begin(), more.end());
    for (NewTensor& tensor : tensors) {
      if (!exchanged) break;
      const bool is_embedding = tensor.name == kEmbedding;
      if (is_embedding || tensor.name == kOutput) tensor.name = is_embedding ? kOutput : kEmbedding;
    }
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

TEST_CASE("a tensor that a head has no place for is refused, but for further heads") {
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
  CHECK(load("qwen3_next", "mtp.layers.1.seldom_seen.weight"));
  CHECK(load("mimo", "model.mtp_layers.1.seldom_seen.weight"));
}

// The tables of a golden model as those of its head, without their last rows.
std::vector<NewTensor> OwnTables(const std::string& family, const std::string& layer, size_t missing = 0) {
  std::vector<NewTensor> own;
  for (NewTensor tensor : RawFile(GoldenPath(family + "/model.safetensors")).Tensors()) {
    if (tensor.name != kEmbedding && tensor.name != kOutput) continue;
    tensor.name = layer + (tensor.name == kOutput ? ".shared_head.head.weight" : ".embed_tokens.weight");
    tensor.bytes.resize(tensor.bytes.size() - missing * tensor.bytes.size() / tensor.shape[0]);
    tensor.shape[0] -= missing;
    own.push_back(std::move(tensor));
  }
  REQUIRE(own.size() == 2);
  return own;
}

TEST_CASE("an embedding and an output head of a head's own are used, unless they are copies of the model's") {
  for (const std::string family : {"glm4_moe", "deepseek_v3"}) {
    CAPTURE(family);
    const std::string layer = "model.layers." + std::to_string(NumLayers(LoadAnyModel(GoldenPath(family))->spec()));
    // Returns what the head computes, and whether its output head is the model's.
    const auto outputs = [&](const std::vector<NewTensor>& own, bool exchanged) {
      const TemporaryFolder folder;
      WriteFolder(family, folder.path(), own, exchanged);
      const OpenedModel opened = *OpenedModel::Open(folder.path());
      const AnyModel model = *LoadAnyModel(opened, {.dtype = DType::kF32});
      const auto head = LoadPredictionHead(opened, model, {.dtype = DType::kF32});
      REQUIRE_MESSAGE(head, head.error().message);
      return std::pair(HeadOutputs(*head), head->body().weights().head->bytes() == model.weights().head->bytes());
    };
    const auto [expected, _] = outputs({}, false);
    CHECK(outputs(OwnTables(family, layer), false) == std::pair(expected, true));
    CHECK(outputs(OwnTables(family, layer), true) == std::pair(expected, false));
    CHECK(outputs({}, true).first != expected);
    const TemporaryFolder folder;
    WriteFolder(family, folder.path(), OwnTables(family, layer, 1));
    const OpenedModel opened = *OpenedModel::Open(folder.path());
    CheckError(LoadPredictionHead(opened, *LoadAnyModel(opened)), ErrorCode::kInvalidArgument,
               layer + ".embed_tokens.weight: expected shape");
  }
}

}  // namespace prediction_test
}  // namespace skald::testing
