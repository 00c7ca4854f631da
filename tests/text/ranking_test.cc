// SPDX-License-Identifier: Apache-2.0

#include "skald/open/encoders/ranking.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/open/open_encoder.h"
#include "tests/support/check_error.h"
#include "tests/support/kernel_data.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald {
namespace ranking_test {

using Order = std::vector<size_t>;

Embeddings RowsOf(size_t dimension, std::vector<size_t> begins, std::vector<float> values) {
  const size_t texts = begins.size() - 1;
  return {dimension, std::move(begins), std::move(values), std::vector<uint32_t>(texts, 1)};
}

TEST_CASE("Scores are ordered from the highest on, equal ones by their places, what is no number last") {
  const float none = std::numeric_limits<float>::quiet_NaN(), most = std::numeric_limits<float>::infinity();
  CHECK(OrderOfScores(std::vector<float>{0.5f, none, 2.0f, 0.5f, -most, 2.0f, most, 0.0f, -0.0f, none}) ==
        Order{6, 2, 5, 0, 3, 7, 8, 4, 1, 9});
  CHECK(OrderOfScores(std::vector<float>(5, 1.0f), 3) == Order{0, 1, 2});
  CHECK(OrderOfScores(std::vector<float>{1.0f}, 8) == Order{0});
  CHECK(OrderOfScores({}).empty());
  Order all(1000);
  std::iota(all.begin(), all.end(), size_t{0});
  CHECK(OrderOfScores(std::vector<float>(1000, 0.25f)) == all);
}

TEST_CASE("The nearest texts are those of the greatest cosine, whatever their lengths") {
  const Embeddings texts = RowsOf(2, {0, 1, 2, 3, 4}, {0, 1, 3, 4, 30, 40, -1, 0});
  const auto found = FindNearest(std::vector<float>{6, 8}, texts, 3);
  REQUIRE(found);
  CHECK(*found == std::vector<FoundText>{{1, 1.0f}, {2, 1.0f}, {0, 0.8f}});
  testing::CheckError(FindNearest(std::vector<float>{1, 2, 3}, texts), ErrorCode::kInvalidArgument, "3 floats");
  CHECK(FindNearest(std::vector<float>{1}, Embeddings())->empty());
}

TEST_CASE("Similarities of floats, codes and bits are cosines, and need rows that fit") {
  const std::vector<float> query = {3, -4, 0, 1}, rows = {3, -4, 0, 1, -6, 8, 0, -2, 0, 0, 0, 0, 4, 3, 5, 0};
  CHECK(*Similarities(query, rows) == std::vector<float>{1, -1, 0, 0});
  const std::vector<int8_t> codes = {3, -4, 0, 1}, many = {3, -4, 0, 1, -6, 8, 0, -2, 0, 0, 0, 0, 4, 3, 5, 0};
  CHECK(*Similarities(codes, many) == std::vector<float>{1, -1, 0, 0});
  const std::vector<uint8_t> bits = {0xF0, 0x01}, others = {0xF0, 0x01, 0x0F, 0xFE, 0xF0, 0xFE};
  CHECK(*Similarities(bits, others) == std::vector<float>{1, -1, 0});
  CHECK(Similarities(bits, {})->empty());
  testing::CheckError(Similarities(query, std::span(rows).first(5)), ErrorCode::kInvalidArgument, "5 elements of rows");
  testing::CheckError(Similarities(std::span<const float>(), rows), ErrorCode::kInvalidArgument, "query of 0");
}

TEST_CASE("A ranking of random vectors has the saved order and bits") {
  constexpr size_t kCount = 500, kSize = 384;
  const std::vector<float> query = testing::RandomFloats(1, kSize), rows = testing::RandomFloats(2, kCount * kSize);
  const auto scores = Similarities(query, rows);
  REQUIRE(scores);
  for (size_t i = 0; i < kCount; ++i) CHECK((*scores)[i] == Cosine(query, std::span(rows).subspan(i * kSize, kSize)));
  CHECK(OrderOfScores(*scores, 5) == Order{172, 405, 12, 92, 189});
  CHECK((*scores)[172] == 0x1.232e86p-3f);
}

TEST_CASE("Embeddings that are not pooled are compared token by token") {
  const Embeddings texts = RowsOf(2, {0, 2, 3}, {1, 0, 0, 1, 2, 0});
  const auto found = FindNearest(std::vector<float>{1, 0, 0, 3}, texts);
  REQUIRE(found);
  CHECK(*found == std::vector<FoundText>{{0, 4.0f}, {1, 2.0f}});
}

// tests/golden/make_text_rankers.py has the originals' scores.
TEST_CASE("Rerankers rank texts as the originals do, by their tokenizers and heads") {
  for (const char* const family : {"bert", "xlm-roberta", "modernbert", "gte"}) {
    CAPTURE(family);
    const auto golden = GoldenPath(std::string("rankers/") + family);
    const auto expected = nlohmann::json::parse(std::ifstream(golden / "ranks.json"));
    const testing::TemporaryFolder folder;
    for (const char* const name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy(golden / name, folder.path() / name);
    }
    const std::string words = expected["tokenizer"];
    std::filesystem::copy(RepositoryPath("tests/text/data/encoders/" + words + "/tokenizer.json"),
                          folder.path() / "tokenizer.json");
    const auto encoder = OpenEncoder(folder.path(), {.weight_type = DType::kF32});
    REQUIRE_MESSAGE(encoder, encoder.error().message);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    const std::vector<std::string> documents = expected["documents"];
    const auto scores = encoder->Rank(expected["query"].get<std::string>(), documents, workspace, {.raw = true});
    REQUIRE_MESSAGE(scores, scores.error().message);
    for (size_t i = 0; i < documents.size(); ++i) {
      CAPTURE(i);
      CHECK(std::fabs((*scores)[i] - expected["scores"][i].get<float>()) < 2e-5f);
    }
  }
}

}  // namespace ranking_test
}  // namespace skald
