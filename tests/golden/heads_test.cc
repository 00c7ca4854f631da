// SPDX-License-Identifier: Apache-2.0
//
// Heads for further tokens, from folders and from GGUF files: their logits, and the guesses that follow, against those
// of an independent program (make_heads.py), in f32.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/speculation/head_drafter.h"
#include "skald/model/draft_head.h"
#include "skald/model/eagle_head.h"
#include "skald/model/load_any.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/support/check_error.h"
#include "tests/support/compare_logits.h"
#include "tests/support/reference_tensors.h"
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

using Observe = std::function<void(const ResidualStream&)>;

// Computes a text with a model, and returns the last block's output.
std::vector<float> Compute(const AnyModel& model, const std::vector<int32_t>& tokens, const Observe& observe) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(model.layout(), kExact);
  std::vector<float> rows;
  const auto watch = [&](const ResidualStream& stream) {
    observe(stream);
    if (stream.block == model.spec().blocks.size()) rows.assign(stream.values.begin(), stream.values.end());
  };
  REQUIRE(model.Forward(cache, tokens, workspace, {.observer = watch}));
  return rows;
}

// The rows that a head reads of a text.
std::vector<float> RowsFor(const DraftHead& head, const AnyModel& model, const std::vector<int32_t>& tokens) {
  const auto dim = static_cast<size_t>(model.spec().model_dim);
  std::vector<float> rows(tokens.size() * head.row_floats());
  Compute(model, tokens, [&](const ResidualStream& stream) {
    const auto place = std::ranges::find(head.watches(), stream.block);
    if (place == head.watches().end()) return;
    const size_t column = static_cast<size_t>(place - head.watches().begin()) * dim;
    for (size_t i = 0; i < stream.rows(); ++i) {
      std::copy_n(stream.row(i).data(), dim, rows.data() + i * head.row_floats() + column);
    }
  });
  return rows;
}

// Minus infinity, of tokens that a head does not know, counts as a number.
std::vector<float> Finite(std::vector<float> logits) {
  for (float& logit : logits) logit = std::max(logit, -1000.0f);
  return logits;
}

void CheckHead(const AnyModel& model, const DraftHead& head, const std::string& family, const std::string& golden) {
  const ReferenceTensors reference(GoldenPath(family + "/golden.safetensors"));
  const ReferenceTensors of_head(GoldenPath(family + "/" + golden));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> text = reference.Tokens("input_ids", row), later(text.begin() + 1, text.end());
    const std::vector<float> rows = RowsFor(head, model, text);
    const std::span<const float> known = std::span(rows).first(later.size() * head.row_floats());
    AlignedBuffer<float> inputs;
    REQUIRE(head.Inputs(later, known, DraftHead::From::kModel, workspace, inputs));
    const std::vector<float> stream = Compute(head.body(), later, [&](const ResidualStream& before) {
      if (before.block == head.entry()) std::copy_n(inputs.data(), before.values.size(), before.values.data());
    });
    std::vector<float> logits;
    REQUIRE(head.Logits(stream, workspace, logits));
    const std::vector<float> expected = of_head.Floats("logits", row), known_tokens = Finite(expected);
    // Its layers come after all of the model's, whose errors its norms make larger.
    const float largest = std::ranges::max(expected) - std::min(0.0f, std::ranges::min(known_tokens));
    const std::vector<float> scale = {std::min(largest, 50.0f)};
    CHECK(LargestDifference(Finite(logits), known_tokens) <= 8.0f * Tolerance(model.spec(), scale));

    HeadDrafter drafter(head, *CreateBlockPool(head.body().layout(), kExact), workspace);
    const SamplerSettings greedy = {.temperature = 0.0f};
    // The prompt in two pieces.
    const uint32_t half = 20;
    DraftTask read = {1, text, &greedy, 0, {0, known.first(half * head.row_floats())}};
    REQUIRE(drafter.Draft({&read, 1}));
    CHECK(read.drafts.empty());
    DraftTask guess = {1, text, &greedy, 2, {half, known.subspan(half * head.row_floats())}};
    REQUIRE(drafter.Draft({&guess, 1}));
    CHECK(guess.drafts == of_head.Tokens("guesses", row));
  }
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
