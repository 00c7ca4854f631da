// SPDX-License-Identifier: Apache-2.0
//
// A tokenizer's file cannot make texts grow without end.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace normalizer_growth_test {

using nlohmann::json;

json WithNormalizers(const json& normalizers) {
  json tokenizer = json::parse(ReadBytes(RepositoryPath("tests/text/data/byte_level/tokenizer.json")));
  tokenizer["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
  return tokenizer;
}

json ReplaceBy(const json& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", content}};
}

TEST_CASE("normalizers that make a text grow without end are an error that names the one that does") {
  const std::string ten(10, 'a');
  const json first = json::array({{{"type", "Lowercase"}}});
  for (const json& pattern : {json{{"String", "a"}}, json{{"Regex", "a"}}, json{{"Regex", ""}}}) {
    json normalizers = first;
    for (int i = 0; i < 12; ++i) normalizers.push_back(ReplaceBy(pattern, ten));
    const Result<Tokenizer> tokenizer = Tokenizer::Parse(WithNormalizers(normalizers).dump());
    REQUIRE_MESSAGE(tokenizer.has_value(), (tokenizer ? "" : tokenizer.error().message));
    const auto ids = tokenizer->Encode(std::string(10'000, 'a'));
    REQUIRE_FALSE(ids.has_value());
    CHECK(ids.error().code == ErrorCode::kResourceExhausted);
    CHECK(ids.error().message.find("normalizer 4, Replace") != std::string::npos);
    CHECK(tokenizer->Encode("bcd").has_value() == (pattern != json{{"Regex", ""}}));
  }
  const Result<Tokenizer> prepends =
      Tokenizer::Parse(WithNormalizers({{{"type", "Prepend"}, {"prepend", std::string(1 << 20, 'b')}}}).dump());
  REQUIRE(prepends.has_value());
  const auto ids = prepends->Encode("a");
  REQUIRE_FALSE(ids.has_value());
  CHECK(ids.error().message.find("normalizer 1, Prepend") != std::string::npos);
}

TEST_CASE("normalizers that published tokenizers have may write out what they find") {
  const Result<Tokenizer> tokenizer =
      Tokenizer::Parse(WithNormalizers({{{"type", "NFKD"}}, ReplaceBy({{"String", " "}}, "\xE2\x96\x81")}).dump());
  REQUIRE(tokenizer.has_value());
  std::string ligatures;
  for (int i = 0; i < 20'000; ++i) ligatures += "\xEF\xB7\xBA";  // each of eighteen characters
  CHECK(tokenizer->Encode(ligatures)->size() > 18 * 20'000);
}

TEST_CASE("decoders that make a piece grow without end leave it as it is") {
  json tokenizer = WithNormalizers(json::array());
  json decoders = json::array();
  for (int i = 0; i < 12; ++i) decoders.push_back(ReplaceBy({{"String", "a"}}, std::string(10, 'a')));
  tokenizer["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  const Result<Tokenizer> parsed = Tokenizer::Parse(tokenizer.dump());
  REQUIRE(parsed.has_value());
  CHECK(parsed->Decode(MustEncode(*parsed, "a"))->size() <= 12u << 20);
}

}  // namespace normalizer_growth_test
}  // namespace skald
