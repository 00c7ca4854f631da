// SPDX-License-Identifier: Apache-2.0
//
// Models of Hugging Face folders written as GGUF files and read again: the same bits, the same ids of texts.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/model/load_any.h"
#include "skald/open/convert_model.h"
#include "skald/open/measure_importance.h"
#include "skald/open/model_info.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/mixture.h"
#include "tests/support/biased_llama.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace convert_test {

std::vector<float> Logits(const std::filesystem::path& path, const std::vector<int32_t>& tokens) {
  const auto model = LoadAnyModel(path, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model, model.error().message);
  KVCache cache = *CreateKVCache(LayoutOf(model->spec()), {.kv_type = DType::kF32});
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto logits = model->Forward(cache, tokens, workspace);
  REQUIRE(logits);
  return {logits->begin(), logits->end()};
}

Result<void> Convert(const std::filesystem::path& folder, const std::filesystem::path& file,
                     const char* type = nullptr) {
  SKALD_ASSIGN(const auto info, IdentifyModel(folder));
  SKALD_ASSIGN(auto draft, DraftOfModel(info));
  if (type != nullptr) SKALD_TRY(ChooseTypes(type, {}, draft));
  ThreadPool pool(2);
  return WriteGguf(file, draft, ExecutorRef(pool));
}

TEST_CASE("a folder written as a GGUF file has the logits of the folder, to the bit") {
  const TemporaryFolder folder;
  for (const char* const family :
       {"llama",      "stories260K", "mixtral",      "qwen2",      "qwen3",          "qwen3_vl",
        "olmo2",      "olmo3",       "olmoe",        "smollm3",    "phi3",           "seed_oss",
        "exaone4",    "arcee",       "ministral3",   "gemma",      "gpt_oss",        "glm4",
        "glm4_moe",   "ernie4_5",    "ernie4_5_moe", "cohere",     "cohere_plus",    "cohere2",
        "starcoder2", "stablelm",    "stablelm_12b", "phi",        "gpt_neox",       "falcon",
        "internlm2",  "dots1",       "bailing_moe",  "minimax_m2", "hunyuan_v1_moe", "gpt2"}) {
    CAPTURE(family);
    const auto source = GoldenPath(family), file = folder.path() / (std::string(family) + ".gguf");
    const auto converted = Convert(source, file);
    REQUIRE_MESSAGE(converted, converted.error().message);
    const std::vector<int32_t> prompt = {3, 17, 25, 9, 40, 11, 7, 30, 2, 58, 1, 1};
    const std::vector<float> expected = Logits(source, prompt), found = Logits(file, prompt);
    REQUIRE(found.size() == expected.size());
    CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("a base of RoPE that no number of a file is exactly is written as the nearest one") {
  const TemporaryFolder folder;
  const auto source = GoldenPath("hunyuan_v1_dense"), file = folder.path() / "rounded.gguf";
  const auto converted = Convert(source, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  const std::vector<int32_t> prompt = {3, 17, 25, 9, 40, 11, 7, 30, 2, 58, 1, 1};
  const std::vector<float> expected = Logits(source, prompt), found = Logits(file, prompt);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= 1e-5f);
}

TEST_CASE("biases of queries and keys are turned as their rows are") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "config.json", kBiasedConfigJson);
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(TinyTensors<Biased>()));
  const auto file = folder.path() / "biased.gguf";
  const auto converted = Convert(folder.path(), file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  CHECK(Logits(file, {3, 18, 0, 7}) == Logits(folder.path(), {3, 18, 0, 7}));
}

TEST_CASE("a model that GGUF files cannot say is refused by name, and nothing is written") {
  const TemporaryFolder folder;
  // Among them: other scales and windows than llama.cpp's own rules for the family give.
  for (const char* const family : {"gemma2", "gemma3", "mistral", "mamba", "rwkv7", "deepseek_v3", "falcon_h1"}) {
    CAPTURE(family);
    const auto file = folder.path() / "refused.gguf";
    const auto refused = Convert(GoldenPath(family), file);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kUnsupported);
    CHECK(refused.error().message.find("cannot be written as GGUF files yet: ") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(file));
  }
}

TEST_CASE("the importance of columns is the sum of squares of what their matrix multiplies") {
  const TemporaryFolder folder;
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 50; ++i) tokens.push_back(i * 37 % 250);
  for (const char* const family : {"llama", "mixtral"}) {
    CAPTURE(family);
    const auto file = folder.path() / "model.gguf";
    REQUIRE(Convert(GoldenPath(family), file));
    std::vector<ImportanceMatrix> measured;
    for (const auto& path : {GoldenPath(family), file}) {
      const auto info = IdentifyModel(path);
      const auto model = LoadAnyModel(path, {.dtype = DType::kF32});
      REQUIRE(model);
      for (const uint32_t threads : {1, 2}) {
        Workspace workspace = *CreateWorkspace({.threads = threads});
        auto matrix = MeasureImportance(*info, *model, tokens, workspace, {.chunk_tokens = 20});
        REQUIRE_MESSAGE(matrix, matrix.error().message);
        CHECK(matrix->chunks == 2);
        measured.push_back(std::move(*matrix));
      }
      // For comparison: what the layers read.
      std::vector<double> squares;
      const auto add = [&](HookRows& rows) {
        squares.resize(rows.cols);
        for (size_t row = 0; row < rows.rows(); ++row) {
          for (size_t i = 0; i < rows.cols; ++i) squares[i] += double{rows.row(row)[i]} * double{rows.row(row)[i]};
        }
      };
      Workspace workspace = *CreateWorkspace({.threads = 1});
      for (const size_t begin : {0, 20}) {
        KVCache cache = *CreateKVCache(model->layout());
        REQUIRE(model->Forward(cache, std::span(tokens).subspan(begin, 20), workspace,
                               {.hooks = {{"block.0.input", add}}}));
      }
      const std::vector<float>& sums = measured.back().tensors.at("blk.0.attn_k.weight").sums;
      REQUIRE(sums.size() == squares.size());
      for (size_t i = 0; i < sums.size(); ++i) CHECK(sums[i] == doctest::Approx(squares[i]).epsilon(1e-5));
    }
    for (const ImportanceMatrix& other : measured) {
      REQUIRE(other.tensors.size() == measured.front().tensors.size());
      for (const auto& [name, tensor] : measured.front().tensors) {
        CAPTURE(name);
        CHECK(other.tensors.at(name).sums == tensor.sums);
        CHECK(other.tensors.at(name).counts == tensor.counts);
      }
    }
  }
  const auto info = IdentifyModel(GoldenPath("llama"));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto refused =
      MeasureImportance(*info, *LoadAnyModel(GoldenPath("llama"), {}), tokens, workspace, {.chunk_tokens = 51});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("the text has 50 tokens, expected at least 51") != std::string::npos);
}

TEST_CASE("the demo model keeps its tokenizer") {
  const std::filesystem::path source = std::filesystem::path(SKALD_REPOSITORY) / "examples/demo_model";
  const TemporaryFolder folder;
  const auto file = folder.path() / "demo.gguf";
  const auto converted = Convert(source, file, "q8_0");
  REQUIRE_MESSAGE(converted, converted.error().message);
  const auto expected = Tokenizer::Load(source), found = Tokenizer::Load(file);
  REQUIRE_MESSAGE(found, found.error().message);
  CHECK(found->bos_id() == expected->bos_id());
  CHECK(found->eos_id() == expected->eos_id());
  for (const char* const text : {"", " ", "And it came to pass", "  two  spaces\n\n",
                                 "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80", "x\xFF", "<bos>"}) {
    CAPTURE(text);
    CHECK(*found->Encode(text) == *expected->Encode(text));
    CHECK(*found->Encode(text, ParseSpecial::kYes, AddSpecial::kYes) ==
          *expected->Encode(text, ParseSpecial::kYes, AddSpecial::kYes));
  }
}

}  // namespace convert_test
}  // namespace skald::testing
