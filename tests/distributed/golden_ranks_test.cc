// SPDX-License-Identifier: Apache-2.0
//
// Reference checkpoints of every family, of which each rank loads its part: the logits are those of one process, which
// the golden tests hold against the original implementations.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/distributed/communicators/thread_ranks.h"
#include "skald/model/load_any.h"
#include "skald/open/open_encoder.h"
#include "tests/support/quantised_types.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace golden_ranks_test {

// Of every token, in two runs, and of one more; or nothing where the model cannot be loaded.
std::vector<float> Logits(const std::filesystem::path& path, const LoadOptions& options,
                          const std::vector<int32_t>& tokens, const CommunicatorRef* ranks) {
  const auto model = LoadAnyModel(path, options);
  if (!model) return {};
  KVCache cache = *CreateKVCache(model->layout());
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<float> all;
  const size_t half = tokens.size() / 2;
  for (const auto run : {std::span(tokens).first(half), std::span(tokens).subspan(half), std::span(tokens).first(1)}) {
    const std::vector<Want> wants(run.size(), Want::kLogits);
    const auto outputs = model->Forward(Batch().Add(cache, run, wants), workspace, {.ranks = ranks});
    if (!outputs) return {};
    for (size_t i = 0; i < outputs->size(); ++i) all.insert(all.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  }
  return all;
}

void CheckRanks(const std::filesystem::path& path, DType type, const std::vector<int32_t>& tokens) {
  const std::vector<float> expected = Logits(path, {.dtype = type}, tokens, nullptr);
  REQUIRE_FALSE(expected.empty());
  for (const size_t count : {2u, 3u, 4u}) {
    CAPTURE(count);
    std::vector<ThreadRank> ends = CreateThreadRanks(count);
    std::vector<std::vector<float>> found(count);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < count; ++r) {
      threads.emplace_back([&, r] {
        const CommunicatorRef end(ends[r]);
        found[r] = Logits(path, {.dtype = type, .share = end.share()}, tokens, &end);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<float>& one : found) CHECK((one == expected));
  }
}

// Of every vocabulary.
std::vector<int32_t> SomeTokens() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 40; ++i) tokens.push_back(i * 7 % 60);
  return tokens;
}

TEST_CASE("ranks compute the reference checkpoint of every family as one process does") {
  std::set<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenPath(""))) {
    if (std::filesystem::exists(entry.path() / "config.json")) folders.insert(entry.path());
  }
  CHECK(folders.size() >= 25);
  for (const auto& folder : folders) {
    CAPTURE(folder.filename().string());
    CheckRanks(folder, DType::kBF16, SomeTokens());
  }
}

TEST_CASE("ranks compute as one process where inputs are gathered by columns, multiplied, or rounded row by row") {
  for (const char* const name : {"gptq_act_order", "gptq_head", "modelopt_w8a8_sq", "modelopt_w4a8_awq", "bitnet"}) {
    CAPTURE(name);
    CheckRanks(GoldenPath("quantised") / name, DType::kBF16, SomeTokens());
  }
}

TEST_CASE("ranks compute weights of every type as one process does") {
  std::vector<DType> types = kQuantisedTypes;
  types.push_back(DType::kF32);
  for (const char* const family : {"llama", "qwen3_moe", "granitemoehybrid"}) {
    const auto folder = GoldenPath(family);
    for (const DType type : types) {
      CAPTURE(family);
      CAPTURE(NameOf(type));
      CheckRanks(folder, type, SomeTokens());
    }
  }
}

// Embeddings or scores of texts of several lengths, and those of each task; or nothing where something fails.
std::vector<float> Encoded(const std::filesystem::path& path, DType type, const CommunicatorRef* ranks) {
  const RankShare share = ranks == nullptr ? RankShare{} : ranks->share();
  const auto encoder = OpenEncoder(path, {.weight_type = type, .load = {.share = share}, .has_text = false});
  if (!encoder) return {};
  std::vector<TextIds> texts;
  for (const size_t length : {1u, 33u, 90u}) {
    texts.emplace_back();
    for (size_t i = 0; i < length; ++i) texts.back().tokens.push_back(static_cast<int32_t>(4 + (i * 7 + length) % 90));
  }
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const EncoderKind kind = encoder->facts().kind;
  if (kind == EncoderKind::kReranker || kind == EncoderKind::kDecoderReranker) {
    return encoder->RankIds(texts, workspace, {.ranks = ranks}).value_or(std::vector<float>());
  }
  std::vector<float> all;
  std::vector<std::string> tasks = encoder->facts().tasks;
  tasks.emplace_back();
  for (const std::string& task : tasks) {
    const auto found = encoder->EmbedIds(texts, workspace, {.task = task, .ranks = ranks});
    if (!found) return {};
    all.insert(all.end(), found->values.begin(), found->values.end());
  }
  return all;
}

TEST_CASE("ranks encode texts as one process does") {
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenPath("encoders"))) {
    CAPTURE(entry.path().filename().string());
    ++folders;
    for (const DType type : {DType::kF32, DType::kBF16}) {
      const std::vector<float> expected = Encoded(entry.path(), type, nullptr);
      REQUIRE_FALSE(expected.empty());
      std::vector<ThreadRank> ends = CreateThreadRanks(3);
      std::vector<std::vector<float>> found(ends.size());
      std::vector<std::thread> threads;
      for (size_t r = 0; r < ends.size(); ++r) {
        threads.emplace_back([&, r] {
          const CommunicatorRef end(ends[r]);
          found[r] = Encoded(entry.path(), type, &end);
        });
      }
      for (std::thread& thread : threads) thread.join();
      for (const std::vector<float>& one : found) CHECK((one == expected));
    }
  }
  CHECK(folders >= 25);
}

}  // namespace golden_ranks_test
}  // namespace skald::testing
