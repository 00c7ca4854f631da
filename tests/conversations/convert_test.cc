// SPDX-License-Identifier: Apache-2.0
//
// Models of Hugging Face folders written as GGUF files and read again: the same bits, the same ids of texts.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/model/load_any.h"
#include "skald/open/convert_model.h"
#include "skald/open/measure_importance.h"
#include "skald/open/model_info.h"
#include "skald/open/model_text.h"
#include "skald/tokenizers/gguf_entries.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/mixture.h"
#include "tests/conversations/convert_folder.h"
#include "tests/support/biased_llama.h"
#include "tests/support/check_error.h"
#include "tests/support/golden_folders.h"
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

constexpr int32_t kPrompt[] = {3, 17, 25, 9, 40, 11, 7, 30, 2, 58, 1, 1};

// A golden model with other facts than its own: fields of config.json replaced.
std::filesystem::path Changed(const char* family, const nlohmann::json& fields, const std::filesystem::path& folder) {
  const auto target = folder / family;
  std::filesystem::copy(GoldenPath(family), target, std::filesystem::copy_options::recursive);
  std::ifstream file(target / "config.json");
  nlohmann::json config = nlohmann::json::parse(file);
  file.close();
  config.update(fields);
  WriteFile(target / "config.json", config.dump());
  return target;
}

void CheckNear(const std::filesystem::path& source, const std::filesystem::path& file, float most) {
  const auto converted = Convert(source, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  const std::vector<int32_t> prompt(std::begin(kPrompt), std::end(kPrompt));
  const std::vector<float> expected = Logits(source, prompt), found = Logits(file, prompt);
  REQUIRE(found.size() == expected.size());
  float furthest = 0.0f;
  for (size_t i = 0; i < found.size(); ++i) furthest = std::max(furthest, std::abs(found[i] - expected[i]));
  CHECK(furthest <= most);
}

// Golden models whose files have other bits: a base of RoPE that is no number of a file, multipliers that go into
// weights, and value heads in the order of llama.cpp's files, which give sums another order.
const std::set<std::string> kOtherBits = {"hunyuan_v1_dense", "falcon_h1", "qwen3_5", "qwen3_5_moe"};

// Golden models that are refused: their scales and windows are not those that llama.cpp takes for granted, experts are
// in some layers of another choice than files can tell, or no files of their architecture are written.
const std::set<std::string> kNotWritten = {"gemma2", "gemma3",    "mistral",   "bitnet",  "phimoe",
                                           "llama4", "qwen2_moe", "qwen3_moe", "minimax", "recurrent_gemma"};

TEST_CASE("a folder written as a GGUF file has the logits of the folder, to the bit") {
  const TemporaryFolder folder;
  size_t written = 0;
  for (const std::string& family : GoldenFolders()) {
    if (kOtherBits.contains(family) || kNotWritten.contains(family)) continue;
    CAPTURE(family);
    const auto source = GoldenPath(family), file = folder.path() / (family + ".gguf");
    const auto converted = Convert(source, file);
    REQUIRE_MESSAGE(converted, converted.error().message);
    const std::vector<int32_t> prompt(std::begin(kPrompt), std::end(kPrompt));
    const std::vector<float> expected = Logits(source, prompt), found = Logits(file, prompt);
    REQUIRE(found.size() == expected.size());
    CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0);
    ++written;
  }
  CHECK(written >= 60);
}

TEST_CASE("files that cannot have the bits of a folder are near it") {
  const TemporaryFolder folder;
  for (const std::string& family : kOtherBits) {
    CAPTURE(family);
    CheckNear(GoldenPath(family), folder.path() / (family + ".gguf"), 1e-5f);
  }
}

TEST_CASE("of two architectures that compute the same, the model's own is written") {
  const auto info = IdentifyModel(GoldenPath("qwen3_5_moe"));
  const auto draft = DraftOfModel(*info);
  REQUIRE_MESSAGE(draft, draft.error().message);
  const GgufEntry* const architecture = draft->Find("general.architecture");
  REQUIRE(architecture != nullptr);
  CHECK(architecture->bytes.ends_with("qwen35moe"));
}

TEST_CASE("models of the sizes that llama.cpp takes for granted are written, which the golden ones are not") {
  const TemporaryFolder folder;
  const std::pair<const char*, nlohmann::json> models[] = {
      {"bitnet", {{"hidden_act", "silu"}}},
      {"phimoe", {{"router_jitter_noise", 0.01}}},
      {"llama4", {{"attention_chunk_size", 8192}, {"floor_scale", 8192}, {"attn_scale", 0.1}}},
      {"gemma3", {{"query_pre_attn_scalar", 16}}}};
  for (const auto& [family, fields] : models) {
    CAPTURE(std::string(family));
    CheckNear(Changed(family, fields, folder.path()), folder.path() / (std::string(family) + ".gguf"), 0.0f);
  }
}

TEST_CASE("a head with normed columns is written as it is multiplied") {
  const TemporaryFolder folder;
  const auto source = Changed("bailing_moe_softmax", {{"norm_head", true}}, folder.path());
  CheckNear(source, folder.path() / "model.gguf", 0.0f);
  CHECK(Logits(source, {3, 17}) != Logits(GoldenPath("bailing_moe_softmax"), {3, 17}));
}

TEST_CASE("of a family with two architectures, a model is refused in the words of its own") {
  const TemporaryFolder folder;
  const auto golden = GoldenPath("bailing_moe_softmax"), source = folder.path() / "dense";
  std::filesystem::create_directory(source);
  std::filesystem::copy(golden / "config.dense.json", source / "config.json");
  std::filesystem::copy(golden / "model.dense.safetensors", source / "model.safetensors");
  const std::pair<std::filesystem::path, const char*> models[] = {
      {source, "yet: as bailingmoe: metadata: bailingmoe.leading_dense_block_count is 1; Skald supports only 0"},
      {GoldenPath("gemma3"), "yet: as gemma3: they would be read as another model"}};
  for (const auto& [model, why] : models) {
    CheckError(Convert(model, folder.path() / "model.gguf"), ErrorCode::kUnsupported, why);
  }
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
  for (const std::string& family : kNotWritten) {
    CAPTURE(family);
    const auto file = folder.path() / "refused.gguf";
    const auto refused = Convert(GoldenPath(family), file);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kUnsupported);
    const bool is_there = family != "recurrent_gemma";
    const char* const why =
        is_there ? "cannot be written as GGUF files yet: " : "llama.cpp has no architecture for them";
    CHECK(refused.error().message.find(why) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(file));
  }
}

TEST_CASE("the importance of columns is the sum of squares of what their matrix multiplies") {
  const TemporaryFolder folder;
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 50; ++i) tokens.push_back(i * 37 % 250);
  for (const char* const family : {"llama", "mixtral"}) {
    CAPTURE(std::string(family));
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

TEST_CASE("the publisher's advice is kept") {
  const TemporaryFolder folder;
  const auto source = Changed("llama", nlohmann::json::object(), folder.path()), file = folder.path() / "model.gguf";
  WriteFile(source / "generation_config.json", R"({"eos_token_id": [3, 5], "temperature": 0.5, "top_k": 7})");
  const auto converted = Convert(source, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  const auto advice = OpenGenerationConfig(*OpenedModel::Open(file));
  REQUIRE_MESSAGE(advice, advice.error().message);
  CHECK(advice->eos_ids == std::vector<int32_t>{3, 5});
  CHECK(advice->temperature == 0.5f);
  const auto gguf = GgufFile::Open(file);
  REQUIRE(gguf);
  CHECK(gguf->metadata().Number("general.sampling.temp") == 0.5);
  CHECK(gguf->metadata().Number("general.sampling.top_k") == 7.0);
}

TEST_CASE("a tokenizer that the file cannot say is told") {
  const TemporaryFolder folder;
  const auto source = folder.path() / "model";
  std::filesystem::create_directory(source);
  for (const char* const name :
       {"examples/demo_model/config.json", "examples/demo_model/model.safetensors",
        "tests/text/data/byte_level/tokenizer.json", "tests/text/data/byte_level/tokenizer_config.json"}) {
    std::filesystem::copy(RepositoryPath(name), source);
  }
  const auto left_out = [&] {
    const auto info = IdentifyModel(source);
    const auto draft = DraftOfModel(*info);
    REQUIRE_MESSAGE(draft, draft.error().message);
    return draft->left_out;
  };
  CHECK(left_out().empty());
  std::ifstream file(source / "tokenizer.json");
  nlohmann::json changed = nlohmann::json::parse(file);
  file.close();
  nlohmann::json& around = changed["post_processor"]["single"];
  around.insert(around.begin(), nlohmann::json(around.front()));  // two tokens before every text
  WriteFile(source / "tokenizer.json", changed.dump());
  REQUIRE(left_out().size() == 1);
  CHECK(left_out()[0].starts_with("the folder's tokenizer as it is: of the text '' it makes 2 tokens"));
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
