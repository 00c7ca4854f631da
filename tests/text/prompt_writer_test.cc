// SPDX-License-Identifier: Apache-2.0

#include "skald/text/prompt_writer.h"

#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace {

using internal::PromptWriter;

TEST_CASE("adjoining text is encoded as one, text around special pieces and breaks on its own") {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  PromptWriter out(tokenizer, "test");
  out.Bos();
  out.Text("li");
  out.Text("ght");
  out.Marker("[INST]");
  out.Text("li");
  out.Break();
  out.Text("ght");
  out.Eos();
  const Result<std::vector<int32_t>> ids = std::move(out).Finish();
  REQUIRE(ids.has_value());
  CHECK(
      *ids ==
      Concat(
          {{1}, MustEncode(tokenizer, "light"), {3}, MustEncode(tokenizer, "li"), MustEncode(tokenizer, "ght"), {2}}));
}

TEST_CASE("nothing written gives no ids") {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  CHECK(PromptWriter(tokenizer, "test").Finish()->empty());
}

TEST_CASE("the first piece that is missing is the error, whatever is written afterwards") {
  const Tokenizer tokenizer = TestTokenizer("normalising");
  PromptWriter out(tokenizer, "test");
  out.Text("light");
  out.Marker("<no such piece>");
  out.Marker("<another>");
  out.Eos();
  const Result<std::vector<int32_t>> ids = std::move(out).Finish();
  REQUIRE_FALSE(ids.has_value());
  CHECK(ids.error().message ==
        "the chat template test needs the piece <no such piece>, which the tokenizer does not have");
}

}  // namespace
}  // namespace skald
