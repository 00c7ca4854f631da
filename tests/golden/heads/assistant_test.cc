// SPDX-License-Identifier: Apache-2.0
//
// Drafters of Gemma 4, from folders and from GGUF files: their logits, and the guesses that follow, against those of
// transformers (make_heads.py), in f32.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/engine/speculation/cache_head_drafter.h"
#include "skald/families/config_json.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/eagle_head.h"
#include "skald/model/load_any.h"
#include "skald/model/workspace.h"
#include "tests/golden/heads/assistant_file.h"
#include "tests/support/check_error.h"
#include "tests/support/check_head.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace assistant_test {

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

}  // namespace assistant_test
}  // namespace skald::testing
