// SPDX-License-Identifier: Apache-2.0
//
// Encoders of Hugging Face folders written as GGUF files and read again: the same rows, pooling, heads and texts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/open/convert_model.h"
#include "skald/open/model_info.h"
#include "skald/open/open_encoder.h"
#include "skald/open/pack_model.h"
#include "skald/tokenizers/gguf_entries.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/writing/gguf_writer.h"
#include "tests/conversations/convert_folder.h"
#include "tests/support/golden_folders.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace convert_encoders_test {

constexpr int32_t kPrompt[] = {3, 17, 25, 9, 40, 11, 7, 30, 2, 58, 1, 1};

// The rows of texts, neither pooled nor normalised.
std::vector<float> RowsOf(const std::filesystem::path& path) {
  const auto encoder = OpenEncoder(path, {.weight_type = DType::kF32, .has_text = false});
  REQUIRE_MESSAGE(encoder.has_value(), encoder.error().message);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const TextIds text = {.tokens = {std::begin(kPrompt), std::end(kPrompt)}};
  const auto rows = encoder->EmbedIds({&text, 1}, workspace, {.normalise = false, .pooling = Pooling::kNone});
  REQUIRE_MESSAGE(rows.has_value(), rows.error().message);
  return {(*rows)[0].begin(), (*rows)[0].end()};
}

bool HasTensor(const std::filesystem::path& path, std::string_view name) {
  return Checkpoint::Open(path)->Find(name) != nullptr;
}

// Compares pooling, the layers after it, lengths and texts.
void CheckSameFacts(const std::filesystem::path& source, const std::filesystem::path& file) {
  const auto expected = ReadEncoderFacts(*IdentifyModel(source)), found = ReadEncoderFacts(*IdentifyModel(file));
  REQUIRE_MESSAGE(expected, expected.error().message);
  REQUIRE_MESSAGE(found, found.error().message);
  CHECK(found->kind == expected->kind);
  CHECK(found->pooling == expected->pooling);
  CHECK(found->dense.size() == expected->dense.size());
  CHECK(found->normalises == expected->normalises);
  CHECK(found->leaves_out_prompt == expected->leaves_out_prompt);
  CHECK(found->bounded_scores == expected->bounded_scores);
  CHECK(found->dimension == expected->dimension);
  CHECK(found->prompts == expected->prompts);
  CHECK(found->default_prompt == expected->default_prompt);
  CHECK(found->has_sparse == expected->has_sparse);
  CHECK(found->token_dimension == expected->token_dimension);
}

TEST_CASE("encoders written as GGUF files have the rows of the folder, to the bit, and its pooling") {
  const TemporaryFolder folder;
  for (const char* const family : {"bert", "roberta", "camembert", "distilbert", "jina_bert", "jina_bert_code",
                                   "nomic_bert", "modernbert", "eurobert", "gemma3_text", "bge_m3", "qwen3"}) {
    CAPTURE(std::string(family));
    const auto source = GoldenPath(std::string("encoders/") + family);
    const auto file = folder.path() / (std::string(family) + ".gguf");
    const auto converted = Convert(source, file);
    REQUIRE_MESSAGE(converted, converted.error().message);
    CHECK(RowsOf(file) == RowsOf(source));
    CheckSameFacts(source, file);
  }
  CHECK(HasTensor(folder.path() / "bert.gguf", "blk.0.attn_output_norm.weight"));
  CHECK(HasTensor(folder.path() / "gemma3_text.gguf", "dense_3.weight"));
}

TEST_CASE("encoders that llama.cpp has no place for are refused") {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> refusals[] = {
      {"xlm-roberta", "2_Dense: cannot be written to a GGUF file"},
      {"mpnet", "(mpnet) cannot be written as GGUF files: llama.cpp has no architecture for them"},
      {"gte", "(gte) cannot be written as GGUF files: llama.cpp has no architecture for them"}};
  for (const auto& [family, why] : refusals) {
    CAPTURE(std::string(family));
    const auto refused = Convert(GoldenPath(std::string("encoders/") + family), folder.path() / "refused.gguf");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find(why) != std::string::npos);
  }
}

TEST_CASE("an encoder of T5 is written, whose largest distance is the one that files mean") {
  const TemporaryFolder folder;
  const auto source = GoldenPath("encoders/t5_relu"), file = folder.path() / "t5.gguf";
  const auto converted = Convert(source, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  CHECK(RowsOf(file) == RowsOf(source));
}

// A copy of a folder with other small files.
std::filesystem::path WithFiles(const char* family, const std::filesystem::path& folder,
                                std::initializer_list<std::pair<const char*, const char*>> files) {
  const auto target = folder / family;
  std::filesystem::copy(GoldenPath(std::string("encoders/") + family), target,
                        std::filesystem::copy_options::recursive);
  for (const auto& [name, content] : files) WriteFile(target / name, content);
  return target;
}

TEST_CASE("prompts, the longest text and what is done with embeddings are kept") {
  const TemporaryFolder folder;
  const auto source =
      WithFiles("bert", folder.path(),
                {{"modules.json",
                  R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                      {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])"},
                 {"1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true, "include_prompt": false})"},
                 {"sentence_bert_config.json", R"({"max_seq_length": 17, "do_lower_case": false})"},
                 {"config_sentence_transformers.json",
                  R"({"prompts": {"query": "find: ", "passage": ""}, "default_prompt_name": "query"})"}});
  const auto file = folder.path() / "model.gguf";
  const auto converted = Convert(source, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  CheckSameFacts(source, file);
  const auto facts = ReadEncoderFacts(*IdentifyModel(file));
  CHECK(facts->longest_text == 17);
  CHECK(facts->prompts.size() == 2);
  CHECK_FALSE(facts->normalises);
  CHECK(facts->leaves_out_prompt);
  for (const auto& from : {source, file}) {
    const auto packed = folder.path() / ("packed" + from.filename().string());
    REQUIRE(PackModel(*IdentifyModel(from), {.dtype = DType::kF32}, packed));
    CheckSameFacts(source, packed);
    CHECK(ReadEncoderFacts(*IdentifyModel(packed))->longest_text == 17);
  }
  const auto refused = PackModel(*IdentifyModel(GoldenPath("encoders/bert_reranker")), {}, folder.path() / "refused");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("rerankers and encoders with dense layers cannot be packed") != std::string::npos);
}

// The embedding of a text's ids, and its weights of tokens.
HybridEmbeddings EmbeddingsOf(const std::filesystem::path& path) {
  const auto encoder = OpenEncoder(path, {.weight_type = DType::kF32, .has_text = false});
  REQUIRE_MESSAGE(encoder, encoder.error().message);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const TextIds text = {.tokens = {std::begin(kPrompt), std::end(kPrompt)}};
  auto found = encoder->EmbedHybridIds({&text, 1}, workspace);
  REQUIRE_MESSAGE(found, found.error().message);
  return *std::move(found);
}

TEST_CASE("heads for tokens are kept, in packed files too") {
  const TemporaryFolder folder;
  const auto source = GoldenPath("encoders/bge_m3"), file = folder.path() / "model.gguf";
  REQUIRE(Convert(source, file));
  const HybridEmbeddings expected = EmbeddingsOf(source);
  REQUIRE(expected.sparse.size() == 1);
  REQUIRE(expected.tokens[0].size() > 0);
  std::vector<std::filesystem::path> others = {file};
  for (const auto& from : {source, file}) {
    others.push_back(folder.path() / ("packed" + std::to_string(others.size())));
    const auto packed = PackModel(*IdentifyModel(from), {.dtype = DType::kF32}, others.back());
    REQUIRE_MESSAGE(packed, packed.error().message);
  }
  for (const auto& path : others) {
    CAPTURE(path.filename().string());
    const HybridEmbeddings found = EmbeddingsOf(path);
    CHECK(found.sparse[0].weights == expected.sparse[0].weights);
    CHECK(std::ranges::equal(found.tokens[0], expected.tokens[0]));
    CHECK(std::ranges::equal(found.dense[0], expected.dense[0]));
  }
}

// Writes a folder's tensors again, with zeros in those whose names end so.
void ClearTensors(const std::filesystem::path& folder, std::string_view end) {
  std::vector<NewTensor> tensors;
  {
    const auto checkpoint = Checkpoint::Open(folder);
    REQUIRE(checkpoint);
    for (const TensorView& tensor : checkpoint->tensors()) {
      std::string bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
      if (tensor.name.ends_with(end)) bytes.assign(bytes.size(), '\0');
      tensors.push_back({std::string(tensor.name),
                         std::string(tensor.dtype_name),
                         {tensor.shape.begin(), tensor.shape.end()},
                         std::move(bytes)});
    }
  }
  WriteFile(folder / "model.safetensors", SafetensorsImage(tensors));
}

std::vector<std::string> LeftOutOf(const std::filesystem::path& folder) {
  const auto info = IdentifyModel(folder);
  const auto draft = DraftOfModel(*info);
  REQUIRE_MESSAGE(draft, draft.error().message);
  return draft->left_out;
}

TEST_CASE("what llama.cpp has no place for is told, and the rest is written") {
  const TemporaryFolder folder;
  const auto experts = WithFiles("nomic_moe", folder.path(), {}), file = folder.path() / "experts.gguf";
  REQUIRE(LeftOutOf(experts).size() == 1);
  CHECK(LeftOutOf(experts)[0].starts_with("the bias of what experts give together"));
  const auto converted = Convert(experts, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  ClearTensors(experts, ".mlp.experts.bias");
  CHECK(RowsOf(file) == RowsOf(experts));

  const auto tasks = GoldenPath("encoders/jina_embeddings_v3"), without = folder.path() / "tasks.gguf";
  REQUIRE(Convert(tasks, without));
  CHECK(RowsOf(without) == RowsOf(tasks));
  const auto info = IdentifyModel(GoldenPath("encoders/bert"));
  const auto draft = DraftOfModel(*info);
  REQUIRE(draft);
  for (const std::string& name : draft->tensors_left_out) CHECK(name.starts_with("pooler."));
}

TEST_CASE("a decoder that ranks is written with the rows of its answers") {
  const TemporaryFolder folder;
  const auto source = GoldenPath("encoders/qwen3_reranker"), file = folder.path() / "model.gguf";
  const auto converted = Convert(source, file);
  REQUIRE_MESSAGE(converted, converted.error().message);
  const auto facts = ReadEncoderFacts(*IdentifyModel(source));
  CHECK(ReadEncoderFacts(*IdentifyModel(file))->kind == EncoderKind::kDecoderReranker);
  const auto written = Checkpoint::Open(file);
  const TensorView* const answers = written->Find("cls.output.weight");
  const TensorView* const embedding = written->Find("token_embd.weight");
  REQUIRE(answers != nullptr);
  const size_t row_bytes = answers->bytes.size() / 2;
  const auto row = embedding->bytes.subspan(static_cast<size_t>(facts->yes_id) * row_bytes, row_bytes);
  CHECK(std::ranges::equal(answers->bytes.first(row_bytes), row));
}

TEST_CASE("rerankers are written with their heads, and score the same") {
  const TemporaryFolder folder;
  for (const char* const family : {"bert_reranker", "xlm-roberta_reranker", "modernbert_reranker"}) {
    CAPTURE(std::string(family));
    const auto source = GoldenPath(std::string("encoders/") + family), file = folder.path() / "model.gguf";
    const auto converted = Convert(source, file);
    REQUIRE_MESSAGE(converted, converted.error().message);
    std::vector<std::vector<float>> scores;
    for (const auto& path : {source, file}) {
      const auto encoder = OpenEncoder(path, {.weight_type = DType::kF32, .has_text = false});
      REQUIRE_MESSAGE(encoder.has_value(), encoder.error().message);
      CHECK(encoder->facts().kind == EncoderKind::kReranker);
      Workspace workspace = *CreateWorkspace({.threads = 1});
      const TextIds pair = {.tokens = {std::begin(kPrompt), std::end(kPrompt)}};
      const auto found = encoder->RankIds({&pair, 1}, workspace, {.raw = true});
      REQUIRE_MESSAGE(found.has_value(), found.error().message);
      scores.push_back(*found);
    }
    CHECK(scores[0] == scores[1]);
  }
}

TEST_CASE("tokenizers of encoders are written") {
  const TemporaryFolder folder;
  for (const char* const name :
       {"bert_uncased_json", "xlm_roberta_json", "t5_json", "bert_uncased", "xlm_roberta", "t5"}) {
    CAPTURE(std::string(name));
    const auto source = RepositoryPath(std::string("tests/text/data/encoders/") + name);
    const auto expected = Tokenizer::Load(source);
    REQUIRE(expected);
    const auto entries = GgufTokenizerEntries(source, static_cast<size_t>(expected->vocab_size()));
    REQUIRE_MESSAGE(entries, entries.error().message);
    const auto file = folder.path() / (std::string(name) + ".gguf");
    ThreadPool pool(1);
    GgufDraft draft;
    draft.entries = *entries;
    draft.Set(GgufText("general.architecture", "bert"));
    REQUIRE(WriteGguf(file, draft, ExecutorRef(pool)));
    const auto found = Tokenizer::Load(file);
    REQUIRE_MESSAGE(found, found.error().message);
    for (const char* const text : {"", "And it came to pass", "  two  spaces\n\n", "\xC3\xA9t\xC3\xA9 \xE6\x97\xA5",
                                   "unaffable [MASK] words", "<s> x </s>"}) {
      CAPTURE(std::string(text));
      CHECK(*found->Encode(text, ParseSpecial::kYes, AddSpecial::kYes) ==
            *expected->Encode(text, ParseSpecial::kYes, AddSpecial::kYes));
    }
  }
}

}  // namespace convert_encoders_test
}  // namespace skald::testing
