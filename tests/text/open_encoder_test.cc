// SPDX-License-Identifier: Apache-2.0
//
// Encoders and rerankers against the originals: rows, embeddings and scores of recorded texts (tests/golden/data), and
// what no batch, order or number of threads may change.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/cache/create.h"
#include "skald/open/open_encoder.h"
#include "skald/weights/files/checkpoint.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace open_encoder_test {

constexpr size_t kTexts = 4;

struct Golden {
  std::filesystem::path folder;
  ReferenceTensors tensors;
  std::vector<TextIds> texts;

  explicit Golden(const std::string& family)
      : folder(GoldenPath("encoders/" + family)), tensors(folder / "golden.safetensors") {
    for (size_t i = 0; i < kTexts; ++i) {
      texts.push_back({.tokens = tensors.AllTokens(Name(i, "input_ids"))});
      if (tensors.Has(Name(i, "types"))) texts.back().types = tensors.AllTokens(Name(i, "types"));
    }
  }

  static std::string Name(size_t text, const std::string& what) { return std::to_string(text) + "." + what; }
  std::vector<float> Floats(size_t text, const std::string& what) const { return tensors.AllFloats(Name(text, what)); }

  Encoder Open(DType type = DType::kF32) const {
    auto encoder = OpenEncoder(folder, {.weight_type = type, .has_text = false});
    REQUIRE_MESSAGE(encoder.has_value(), encoder.error().message);
    return std::move(*encoder);
  }
};

Workspace Threads(uint32_t threads) { return *CreateWorkspace({.threads = threads}); }

// The largest difference.
float Distance(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  float largest = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

constexpr float kTolerance = 2e-5f;

void CheckEmbeddings(const std::string& family, EncoderKind kind) {
  CAPTURE(family);
  const Golden golden(family);
  const Encoder encoder = golden.Open();
  Workspace workspace = Threads(2), alone = Threads(1);
  CHECK(encoder.facts().kind == kind);
  const auto embeddings = encoder.EmbedIds(golden.texts, workspace);
  REQUIRE_MESSAGE(embeddings.has_value(), embeddings.error().message);
  const auto rows = encoder.facts().dense.empty()
                        ? encoder.EmbedIds(golden.texts, workspace, {.normalise = false, .pooling = Pooling::kNone})
                        : embeddings;
  REQUIRE(rows);
  for (size_t i = 0; i < kTexts; ++i) {
    CAPTURE(i);
    CHECK(Distance((*embeddings)[i], golden.Floats(i, "embedding")) < kTolerance);
    CHECK(Cosine((*embeddings)[i], golden.Floats(i, "embedding")) > 0.999999f);
    if (encoder.facts().dense.empty()) CHECK(Distance((*rows)[i], golden.Floats(i, "hidden")) < kTolerance);
    const auto one = encoder.EmbedIds({&golden.texts[i], 1}, alone);
    REQUIRE(one);
    CHECK(SameBits((*one)[0], (*embeddings)[i]));
  }
}

TEST_CASE("encoders embed as the originals do, and alone as together") {
  CheckEmbeddings("bert", EncoderKind::kEncoder);
  CheckEmbeddings("roberta", EncoderKind::kEncoder);
  CheckEmbeddings("camembert", EncoderKind::kEncoder);
  CheckEmbeddings("xlm-roberta", EncoderKind::kEncoder);
  CheckEmbeddings("mpnet", EncoderKind::kEncoder);
  CheckEmbeddings("modernbert", EncoderKind::kEncoder);
  CheckEmbeddings("nomic_bert", EncoderKind::kEncoder);
  CheckEmbeddings("eurobert", EncoderKind::kEncoder);
  CheckEmbeddings("gemma3_text", EncoderKind::kEncoder);
  CheckEmbeddings("t5", EncoderKind::kEncoder);
  CheckEmbeddings("jina_bert", EncoderKind::kEncoder);
  CheckEmbeddings("gte", EncoderKind::kEncoder);
  CheckEmbeddings("new", EncoderKind::kEncoder);
  CheckEmbeddings("distilbert", EncoderKind::kEncoder);
  CheckEmbeddings("t5_relu", EncoderKind::kEncoder);
  CheckEmbeddings("jina_bert_code", EncoderKind::kEncoder);
  CheckEmbeddings("jina_embeddings_v3", EncoderKind::kEncoder);
  CheckEmbeddings("nomic_moe", EncoderKind::kEncoder);
  CheckEmbeddings("new_ntk", EncoderKind::kEncoder);
  CheckEmbeddings("bge_m3", EncoderKind::kEncoder);
  CheckEmbeddings("qwen3", EncoderKind::kDecoder);
}

void CheckScores(const std::string& family, EncoderKind kind = EncoderKind::kReranker) {
  CAPTURE(family);
  const Golden golden(family);
  const Encoder encoder = golden.Open();
  Workspace workspace = Threads(2);
  CHECK(encoder.facts().kind == kind);
  const auto scores = encoder.RankIds(golden.texts, workspace, {.raw = true});
  REQUIRE_MESSAGE(scores.has_value(), scores.error().message);
  const auto bounded = encoder.RankIds(golden.texts, workspace);
  REQUIRE(bounded);
  for (size_t i = 0; i < kTexts; ++i) {
    const float expected = golden.Floats(i, "scores")[0];
    CHECK(std::fabs((*scores)[i] - expected) < kTolerance);
    CHECK((*bounded)[i] == doctest::Approx(1.0 / (1.0 + std::exp(-expected))));
  }
  CheckError(encoder.EmbedIds(golden.texts, workspace), ErrorCode::kUnsupported, "ranks pairs");
}

TEST_CASE("rerankers score as the originals do") {
  CheckScores("bert_reranker");
  CheckScores("xlm-roberta_reranker");
  CheckScores("modernbert_reranker");
  CheckScores("qwen3_reranker", EncoderKind::kDecoderReranker);
}

TEST_CASE("adapters for tasks are chosen by name") {
  const Golden golden("jina_embeddings_v3");
  const Encoder encoder = golden.Open();
  Workspace workspace = Threads(2);
  const std::vector<std::string> tasks = {"retrieval.query", "retrieval.passage", "text-matching"};
  CHECK(encoder.facts().tasks == tasks);
  const auto prompt = std::pair<std::string, std::string>("retrieval.query", "retrieval.query: ");
  CHECK(std::ranges::count(encoder.facts().prompts, prompt) == 1);
  const auto plain = encoder.EmbedIds(golden.texts, workspace);
  REQUIRE(plain);
  for (const std::string& task : tasks) {
    CAPTURE(task);
    const auto found = encoder.EmbedIds(golden.texts, workspace, {.task = task});
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    for (size_t i = 0; i < kTexts; ++i) {
      CHECK(Distance((*found)[i], golden.Floats(i, task)) < kTolerance);
      CHECK(Cosine((*found)[i], (*plain)[i]) < 0.999f);
    }
  }
  CheckError(encoder.EmbedIds(golden.texts, workspace, {.task = "poems"}), ErrorCode::kInvalidArgument,
             "no task called \"poems\", but retrieval.query");
}

TEST_CASE("weights and vectors of tokens come from heads in files of their own") {
  const Golden golden("bge_m3");
  const Encoder encoder = golden.Open();
  Workspace workspace = Threads(2), alone = Threads(1);
  CHECK(encoder.facts().has_sparse);
  CHECK(encoder.facts().token_dimension == 20);
  const auto found = encoder.EmbedHybridIds(golden.texts, workspace, {.pass_tokens = 60});
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  const auto expected = encoder.EmbedIds(golden.texts, workspace);
  REQUIRE(expected);
  CHECK(SameBits(found->dense.values, expected->values));
  REQUIRE(found->sparse.size() == kTexts);
  for (size_t i = 0; i < kTexts; ++i) {
    CAPTURE(i);
    const std::vector<float> weights = golden.Floats(i, "sparse");
    std::vector<float> ours(weights.size());
    for (size_t t = 0; t < found->sparse[i].ids.size(); ++t) {
      ours[static_cast<size_t>(found->sparse[i].ids[t])] = found->sparse[i].weights[t];
    }
    CHECK(Distance(ours, weights) < kTolerance);
    CHECK(std::ranges::is_sorted(found->sparse[i].ids));
    if (golden.texts[i].tokens.size() > 1) {
      CHECK(Distance(found->tokens[i], golden.Floats(i, "tokens")) < kTolerance);
    }
    const auto one = encoder.EmbedHybridIds({&golden.texts[i], 1}, alone);
    REQUIRE(one);
    CHECK(SameBits(one->tokens.values, found->tokens[i]));
    CHECK(SameBits(one->sparse[0].weights, found->sparse[i].weights));
  }
  CHECK(LexicalScore({{1, 4, 9}, {1.0f, 2.0f, 0.5f}}, {{4, 5, 9}, {3.0f, 7.0f, 2.0f}}) == 7.0f);
  CheckError(Golden("bert").Open().EmbedHybridIds(golden.texts, workspace), ErrorCode::kUnsupported, "no head for");
}

TEST_CASE("no order, pass or type of weights changes which bits a text has") {
  const Golden golden("modernbert");
  Workspace workspace = Threads(3);
  for (const DType type : {DType::kF32, DType::kBF16, DType::kQ8_0}) {
    const Encoder encoder = golden.Open(type);
    const auto expected = encoder.EmbedIds(golden.texts, workspace);
    std::vector<TextIds> reversed(golden.texts.rbegin(), golden.texts.rend());
    const auto found = encoder.EmbedIds(reversed, workspace, {.pass_tokens = 1});
    REQUIRE(expected);
    REQUIRE(found);
    for (size_t i = 0; i < kTexts; ++i) CHECK(SameBits((*expected)[i], (*found)[kTexts - 1 - i]));
    CHECK(Cosine((*expected)[3], golden.Floats(3, "embedding")) > 0.999f);
  }
}

TEST_CASE("embeddings are cut, normalised, and made of windows") {
  const Golden golden("bert");
  const Encoder encoder = golden.Open();
  Workspace workspace = Threads(1);
  const auto cut = encoder.EmbedIds(golden.texts, workspace, {.dimension = 8});
  REQUIRE(cut);
  CHECK(cut->dimension == 8);
  CHECK(DotProduct((*cut)[2], (*cut)[2]) == doctest::Approx(1.0));

  TextIds text = golden.texts[3];
  text.prefix = text.suffix = 1;
  text.tokens.resize(400, 17);
  text.types.clear();
  CheckError(encoder.EmbedIds({&text, 1}, workspace), ErrorCode::kOutOfRange, "text 0: it has 400 tokens");
  const auto windows = encoder.EmbedIds({&text, 1}, workspace, {.normalise = false, .long_text = LongText::kWindows});
  REQUIRE(windows);
  CHECK(windows->num_tokens[0] == 400 + 2 * 2);  // three windows, each with the first and the last token
  TextIds first = text;
  first.tokens.resize(159);
  first.tokens.push_back(text.tokens.back());
  const auto of_first = encoder.EmbedIds({&first, 1}, workspace, {.normalise = false});
  const auto of_cut = encoder.EmbedIds({&text, 1}, workspace, {.normalise = false, .long_text = LongText::kCut});
  REQUIRE(of_first);
  REQUIRE(of_cut);
  CHECK(SameBits((*of_first)[0], (*of_cut)[0]));
}

// The tensors of a golden BERT under the names of a GGUF file.
std::vector<NewGgufTensor> AsGguf(const std::filesystem::path& folder) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"embeddings.word_embeddings", "token_embd"},
                                                            {"embeddings.position_embeddings", "position_embd"},
                                                            {"embeddings.token_type_embeddings", "token_types"},
                                                            {"embeddings.LayerNorm", "token_embd_norm"},
                                                            {"encoder.layer.", "blk."},
                                                            {"attention.self.query", "attn_q"},
                                                            {"attention.self.key", "attn_k"},
                                                            {"attention.self.value", "attn_v"},
                                                            {"attention.output.dense", "attn_output"},
                                                            {"attention.output.LayerNorm", "attn_output_norm"},
                                                            {"intermediate.dense", "ffn_up"},
                                                            {"output.dense", "ffn_down"},
                                                            {"output.LayerNorm", "layer_output_norm"}};
  std::vector<NewGgufTensor> tensors;
  const auto checkpoint = Checkpoint::Open(folder);
  REQUIRE(checkpoint);
  for (const TensorView& tensor : checkpoint->tensors()) {
    if (tensor.name.starts_with("pooler.")) continue;
    std::string name(tensor.name);
    for (const auto& [theirs, ours] : kNames) {
      if (const size_t at = name.find(theirs); at != name.npos) name.replace(at, std::strlen(theirs), ours);
    }
    tensors.push_back({name,
                       /*F32*/ 0,
                       {tensor.shape.begin(), tensor.shape.end()},
                       std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())});
  }
  return tensors;
}

TEST_CASE("a GGUF file gives the bits of the folder that it was made of") {
  const Golden golden("bert");
  GgufValues values;
  values.String("general.architecture", "bert").U32("bert.context_length", 160).U32("bert.embedding_length", 32);
  values.U32("bert.block_count", 2).U32("bert.feed_forward_length", 44).U32("bert.attention.head_count", 4);
  values.F32("bert.attention.layer_norm_epsilon", 1e-12f).Bool("bert.attention.causal", false);
  values.U32("bert.pooling_type", 1);
  const TemporaryFolder folder;
  const auto path = folder.path() / "bert.gguf";
  WriteFile(path, GgufImage(values, AsGguf(golden.folder)));
  const auto encoder = OpenEncoder(path, {.weight_type = DType::kF32, .has_text = false});
  REQUIRE_MESSAGE(encoder.has_value(), encoder.error().message);
  Workspace workspace = Threads(1);
  const auto found = encoder->EmbedIds(golden.texts, workspace),
             expected = golden.Open().EmbedIds(golden.texts, workspace);
  REQUIRE(found);
  REQUIRE(expected);
  CHECK(SameBits(found->values, expected->values));
}

TEST_CASE("GGUF files, as llama.cpp's package writes them, embed as the originals do") {
  for (const char* const family :
       {"modernbert", "nomic_bert", "jina_bert", "jina_embeddings_v3", "gemma3_text", "t5_relu"}) {
    CAPTURE(family);
    const Golden golden(family);
    const auto encoder = OpenEncoder(golden.folder / "model.gguf", {.weight_type = DType::kF32, .has_text = false});
    REQUIRE_MESSAGE(encoder.has_value(), encoder.error().message);
    Workspace workspace = Threads(2);
    const auto found = encoder->EmbedIds(golden.texts, workspace, {.normalise = true});
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    for (size_t i = 0; i < kTexts; ++i) {
      std::vector<float> expected = golden.Floats(i, "embedding");
      Normalise(expected);
      CHECK(Distance((*found)[i], expected) < kTolerance);
    }
  }
}

TEST_CASE("a config.json with a bare Infinity, as Python writes it, is read by all that read one") {
  const Golden golden("bert");
  const TemporaryFolder folder;
  const auto copy = folder.path() / "bert", config = copy / "config.json";
  std::filesystem::copy(golden.folder, copy, std::filesystem::copy_options::recursive);
  std::string text = *ReadSmallFile(config, 1 << 20);
  const std::string value = "0.02";  // of initializer_range, which no number depends on
  text.replace(text.find(value), value.size(), "Infinity");
  std::filesystem::remove(config);
  WriteFile(config, text);
  const auto encoder = OpenEncoder(copy, {.weight_type = DType::kF32, .has_text = false});
  REQUIRE_MESSAGE(encoder.has_value(), encoder.error().message);
  CHECK(encoder->info().trained_context == golden.Open().info().trained_context);
  CHECK(encoder->info().trained_context > 0);
}

TEST_CASE("what an encoder cannot embed is named") {
  const Golden golden("bert");
  const Encoder encoder = golden.Open();
  Workspace workspace = Threads(1);
  const auto refused = [&](TextIds text, const char* why) {
    const std::vector<TextIds> texts = {golden.texts[0], std::move(text)};
    CheckError(encoder.EmbedIds(texts, workspace), ErrorCode::kInvalidArgument, why);
  };
  refused({}, "text 1: it has no tokens");
  refused({.tokens = {3, 4}, .types = {0}}, "text 1: its types");
  refused({.tokens = {3, 96}}, "expected 0 to 95");
  refused({.tokens = {3, 4}, .types = {0, 2}}, "has the type 2");
  CheckError(encoder.EmbedIds(golden.texts, workspace, {.dimension = 33}), ErrorCode::kInvalidArgument, "33 elements");
  CheckError(encoder.RankIds(golden.texts, workspace), ErrorCode::kUnsupported, "no head");
  const std::string text = "a";
  CheckError(encoder.Embed({&text, 1}, workspace), ErrorCode::kFailedPrecondition, "without a tokenizer");

  const auto opened = [](const char* name, EncoderOptions options) {
    options.has_text = false;
    return OpenEncoder(Golden(name).folder, options);
  };
  CheckError(opened("bert_reranker", {.pooling = Pooling::kNone}), ErrorCode::kInvalidArgument,
             "no other pooling (none");
  CheckError(opened("bert", {.kind = EncoderKind::kDecoderReranker}), ErrorCode::kUnsupported, "no logits");
  CheckError(opened("bert", {.kind = EncoderKind::kReranker}), ErrorCode::kUnsupported, "expected a head");

  auto cache = CreateKVCache(encoder.model().layout());
  REQUIRE(cache);
  const std::vector<int32_t> tokens = {3, 4};
  CheckError(encoder.model().Forward(*cache, tokens, workspace), ErrorCode::kUnsupported, "sees both ways");
}

TEST_CASE("similarities, codes and bits of rows") {
  const std::vector<float> a = {0.6f, -0.8f, 0.0f, 2.0f, 0.5f, -0.1f, 0.25f, 1.0f, -4.0f}, b = {1.0f, 2.0f};
  CHECK(Cosine(a, a) == 1.0f);
  CHECK(Cosine(b, std::vector<float>{0.0f, 0.0f}) == 0.0f);
  const Int8Row codes = ToInt8(a);
  CHECK(codes.codes[8] == -127);
  CHECK(codes.scale == 4.0f / 127.0f);
  CHECK(ToBinary(a) == std::vector<uint8_t>{0x9B, 0x00});
  CHECK(MaxSim(b, std::vector<float>{1.0f, 0.0f, 0.0f, 3.0f}, 2) == 6.0f);
  std::vector<float> row = {3.0f, 4.0f};
  Normalise(row);
  CHECK(row == std::vector<float>{0.6f, 0.8f});
  CHECK(PoolingNamed("cls") == Pooling::kFirst);
  CheckError(PoolingNamed("middle"), ErrorCode::kInvalidArgument, "mean, cls");
}

}  // namespace open_encoder_test
}  // namespace skald::testing
