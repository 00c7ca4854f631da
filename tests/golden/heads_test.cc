// SPDX-License-Identifier: Apache-2.0
//
// Heads for further tokens, from folders and from GGUF files: their logits, and the guesses that follow, against those
// of an independent program (make_heads.py), in f32.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/draft_head.h"
#include "skald/model/eagle_head.h"
#include "skald/model/load_any.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

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
  for (const char* const family : {"glm4_moe", "deepseek_v3", "qwen3_next", "qwen3_5"}) {
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

TEST_CASE("a head of EAGLE-3 for another model is refused") {
  CHECK_FALSE(HasEagleHead(GoldenPath("llama")));
  const AnyModel model = *LoadAnyModel(GoldenPath("qwen3"));
  CheckError(LoadEagleHead(GoldenPath("llama/eagle3"), model), ErrorCode::kInvalidArgument, "a vocabulary of 272");
  CheckError(LoadEagleHead(GoldenPath("llama"), model), ErrorCode::kNotFound, "EAGLE-3");
}

}  // namespace heads_test
}  // namespace skald::testing
