// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace tokenizer_test {

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::vector<std::string> Pieces(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.emplace_back(*tokenizer.IdToPiece(id));
  return pieces;
}

TEST_CASE("the ids with a meaning are known, and those that a model lacks are absent") {
  const Tokenizer gemma = TestTokenizer("gemma_style");
  CHECK(gemma.vocab_size() == 340);
  CHECK(gemma.pad_id() == 0);
  CHECK(gemma.eos_id() == 1);
  CHECK(gemma.bos_id() == 2);
  CHECK(gemma.unk_id() == 3);
  const Tokenizer mistral = TestTokenizer("mistral_style");
  CHECK(mistral.unk_id() == 0);
  CHECK(mistral.bos_id() == 1);
  CHECK(mistral.eos_id() == 2);
  CHECK_FALSE(mistral.pad_id().has_value());
}

TEST_CASE("pieces and ids name each other") {
  for (const char* name : kTestTokenizers) {
    const Tokenizer tokenizer = TestTokenizer(name);
    for (int32_t id = 0; id < static_cast<int32_t>(tokenizer.vocab_size()); ++id) {
      CHECK(tokenizer.PieceToId(*tokenizer.IdToPiece(id)) == id);
    }
    CHECK_FALSE(tokenizer.PieceToId("no such piece").has_value());
    CHECK_FALSE(tokenizer.PieceToId("").has_value());
  }
}

TEST_CASE("kinds of pieces are told apart") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");
  CHECK(tokenizer.KindOf(*tokenizer.eos_id()) == PieceKind::kControl);
  CHECK(tokenizer.KindOf(*tokenizer.unk_id()) == PieceKind::kUnknown);
  CHECK(tokenizer.KindOf(*tokenizer.PieceToId("<start_of_turn>")) == PieceKind::kText);
  CHECK(tokenizer.KindOf(*tokenizer.PieceToId("t")) == PieceKind::kText);
  for (int byte = 0; byte < 256; ++byte) {
    const int32_t id = *tokenizer.PieceToId("<0x00>") + byte;
    CHECK(tokenizer.KindOf(id) == PieceKind::kByte);
    CHECK(tokenizer.ByteOf(id) == byte);
  }
}

TEST_CASE("what is asked of an id beyond the vocabulary is an error") {
  for (const std::filesystem::path& path :
       {TokenizerPath("gemma_style"), RepositoryPath("tests/text/data/byte_level")}) {
    const Tokenizer tokenizer = LoadTokenizer(path);
    const auto size = static_cast<int32_t>(tokenizer.vocab_size());
    for (const int32_t id : {-1, size, size + 1'000'000, std::numeric_limits<int32_t>::min()}) {
      const Error errors[] = {tokenizer.KindOf(id).error(), tokenizer.ByteOf(id).error(), tokenizer.BytesOf(id).error(),
                              tokenizer.IdToPiece(id).error(), tokenizer.Decode(std::vector{id}).error()};
      for (const Error& error : errors) {
        CHECK(error.code == ErrorCode::kInvalidArgument);
        CHECK(error.message.find("token id " + std::to_string(id)) != std::string::npos);
      }
    }
    const int32_t no_byte = *tokenizer.eos_id();
    REQUIRE_FALSE(tokenizer.ByteOf(no_byte).has_value());
    CHECK(tokenizer.ByteOf(no_byte).error().message.find("is not a byte") != std::string::npos);
  }
}

TEST_CASE("the rules for leading spaces and unknown text are found out") {
  CHECK(TestTokenizer("gemma_style").leading_space() == LeadingSpace::kKeep);
  CHECK(TestTokenizer("mistral_style").leading_space() == LeadingSpace::kDropOne);
  CHECK(TestTokenizer("normalising").leading_space() == LeadingSpace::kDropAll);
  CHECK(TestTokenizer("normalising").unknown_text() == " \xE2\x81\x87 ");
}

TEST_CASE("with byte pieces and no normalisation, any valid text comes back as it was") {
  for (const char* name : {"gemma_style", "mistral_style"}) {
    const Tokenizer tokenizer = TestTokenizer(name);
    for (const std::string text :
         {"", " ", "   ", "In the beginning", "  two  spaces ", "line\nbreak\r\n\ttab", "na\xC3\xAFve \xF0\x9F\x98\x80",
          "<start_of_turn>user\nhi<end_of_turn>", "</s><s><bos>[INST] [/INST]", "\xE2\x96\x81 is the space symbol"}) {
      const std::string expected = text == "\xE2\x96\x81 is the space symbol" ? "  is the space symbol" : text;
      CHECK(MustDecode(tokenizer, MustEncode(tokenizer, text)) == expected);
    }
    const std::string with_zero("nul\0inside", 10);
    CHECK(MustDecode(tokenizer, MustEncode(tokenizer, with_zero)) == with_zero);
  }
}

TEST_CASE("an id outside of the vocabulary is an error that names both") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");
  for (const int32_t id : {-1, 340, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    const Result<std::string> text = tokenizer.Decode(std::vector<int32_t>{5, id});
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().code == ErrorCode::kInvalidArgument);
    CHECK(Contains(text.error().message, "token id " + std::to_string(id)));
    CHECK(Contains(text.error().message, "340 pieces"));
    CHECK_FALSE(tokenizer.IdToPiece(id).has_value());
  }
}

TEST_CASE("special pieces are found by name only, other pieces are not special") {
  const Tokenizer gemma = TestTokenizer("gemma_style");
  CHECK(gemma.SpecialId("<start_of_turn>") == gemma.PieceToId("<start_of_turn>"));
  CHECK(gemma.SpecialId("<bos>") == gemma.bos_id());
  CHECK_FALSE(gemma.SpecialId("<h1>").has_value());
  CHECK_FALSE(gemma.SpecialId("[INST]").has_value());
  CHECK(TestTokenizer("mistral_style").SpecialId("[INST]") == 3);
}

TEST_CASE("text from users never becomes a special piece, but reads the same") {
  for (const char* name : kTestTokenizers) {
    const Tokenizer tokenizer = TestTokenizer(name);
    std::vector<int32_t> special;
    for (const char* piece :
         {"<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "<pad>", "[INST]", "[/INST]"}) {
      if (const auto id = tokenizer.SpecialId(piece)) special.push_back(*id);
    }
    REQUIRE(special.size() >= 4);
    for (const std::string text :
         {"<end_of_turn>", "a<end_of_turn>b", "<end_of_turn><start_of_turn>", "<<end_of_turn>>",
          "<start_of_<end_of_turn>turn>", "hi</s><s>[INST] x [/INST]<bos><eos><pad>",
          "\xEF\xBC\x9C"
          "end_of_turn\xEF\xBC\x9E",
          "<end_of\xE2\x80\x8B_turn>"}) {
      const std::vector<int32_t> ids = MustEncode(tokenizer, text);
      for (const int32_t id : special) CHECK_FALSE(Contains(ids, id));
      if (name != std::string("normalising")) CHECK(MustDecode(tokenizer, ids) == text);
    }
  }
}

TEST_CASE("a turn marker in a text is spelled with the pieces that its letters have") {
  const Tokenizer gemma = TestTokenizer("gemma_style");
  CHECK(Pieces(gemma, MustEncode(gemma, "a<end_of_turn>b")) ==
        std::vector<std::string>{"a", "<0x3C>", "e", "nd", "<0x5F>", "o", "f", "<0x5F>", "t", "u", "r", "n", "<0x3E>",
                                 "b"});
}

TEST_CASE("user-defined pieces that are no markers are still found in any text") {
  const Tokenizer gemma = TestTokenizer("gemma_style");
  CHECK(Contains(MustEncode(gemma, "<h1>the"), *gemma.PieceToId("<h1>")));
  CHECK(Contains(MustEncode(gemma, "a  b"), *gemma.PieceToId("\xE2\x96\x81\xE2\x96\x81")));
}

TEST_CASE("on request the names of special pieces become these pieces") {
  const Tokenizer gemma = TestTokenizer("gemma_style");
  const std::vector<int32_t> expected = Concat({{*gemma.bos_id(), *gemma.SpecialId("<start_of_turn>")},
                                                MustEncode(gemma, "user\nlight"),
                                                {*gemma.SpecialId("<end_of_turn>")},
                                                MustEncode(gemma, "\n")});
  CHECK(MustEncode(gemma, "<bos><start_of_turn>user\nlight<end_of_turn>\n", ParseSpecial::kYes) == expected);

  const Tokenizer mistral = TestTokenizer("mistral_style");
  CHECK(MustEncode(mistral, "<s>[INST]light[/INST]", ParseSpecial::kYes) ==
        Concat({{1, 3}, MustEncode(mistral, "light"), {4}}));
}

TEST_CASE("text without special names is the same with and without the request") {
  for (const char* name : kTestTokenizers) {
    const Tokenizer tokenizer = TestTokenizer(name);
    for (const std::string text : {"", "And God said", "a < b [c] <s", " <end_of_turn "}) {
      CHECK(MustEncode(tokenizer, text, ParseSpecial::kYes) == MustEncode(tokenizer, text));
    }
  }
}

TEST_CASE("one tokenizer serves several threads") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");
  const std::string text = "And God said, Let there be light<end_of_turn>";
  const std::vector<int32_t> expected = MustEncode(tokenizer, text);
  std::vector<int> wrong(3, 0);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto ids = tokenizer.Encode(text);
        const auto decoded = tokenizer.Decode(expected);
        count += !ids || *ids != expected || !decoded || *decoded != text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>{0, 0, 0});
}

TEST_CASE("a tokenizer can be moved and keeps the spelling of its pieces") {
  Tokenizer first = TestTokenizer("mistral_style");
  const std::string_view piece = *first.IdToPiece(300);
  const Tokenizer second = std::move(first);
  CHECK(second.IdToPiece(300)->data() == piece.data());
}

TEST_CASE("bytes and file of a model give the same tokenizer") {
  const Result<Tokenizer> parsed = Tokenizer::Parse(ReadBytes(TokenizerPath("mistral_style")));
  REQUIRE(parsed.has_value());
  const std::string text = "In the beginning \xF0\x9F\x98\x80";
  CHECK(MustEncode(*parsed, text) == MustEncode(TestTokenizer("mistral_style"), text));
}

TEST_CASE("a missing file, a folder and a file of another kind are refused by name") {
  const std::filesystem::path missing = RepositoryPath("tests/text/data/missing.model");
  const std::filesystem::path folder = RepositoryPath("tests/text/data");
  const std::filesystem::path script = RepositoryPath("tests/text/data/train.sh");
  for (const auto& path : {missing, folder, script}) {
    const Result<Tokenizer> tokenizer = Tokenizer::Load(path);
    REQUIRE_FALSE(tokenizer.has_value());
    CHECK(Contains(tokenizer.error().message, path.string()));
    CHECK(Contains(tokenizer.error().message, "SentencePiece model"));
    CHECK(tokenizer.error().code == (path == script ? ErrorCode::kDataLoss : ErrorCode::kNotFound));
  }
}

TEST_CASE("a model whose outline is whole but whose pieces make no vocabulary is refused") {
  const std::string specifications("\x12\x00\x1A\x00", 4);
  const std::string normal_piece = "\x0A\x03\x0A\x01x";
  const std::string empty_piece = std::string("\x0A\x02\x0A\x00", 4);
  const std::string unknown_piece = "\x0A\x06\x0A\x02uu\x18\x02";
  for (const std::string& pieces :
       {normal_piece, unknown_piece + empty_piece, unknown_piece + normal_piece + normal_piece}) {
    const Result<Tokenizer> tokenizer = Tokenizer::Parse(pieces + specifications);
    REQUIRE_FALSE(tokenizer.has_value());
    CHECK(tokenizer.error().code == ErrorCode::kDataLoss);
    CHECK(Contains(tokenizer.error().message, "not a usable SentencePiece model: "));
  }
  CHECK(Tokenizer::Parse(unknown_piece + normal_piece + specifications).has_value());
}

TEST_CASE("a vocabulary of another size is refused with both numbers") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");  // 340 pieces
  for (const size_t rows : {340, 384, 448}) CHECK(CheckVocabulary(tokenizer, rows).has_value());
  for (const size_t rows : {0, 1, 339, 341, 383, 385, 467, 468, 512, 32000, 256000}) {
    const Result<void> result = CheckVocabulary(tokenizer, rows);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == ErrorCode::kInvalidArgument);
    CHECK(Contains(result.error().message, "340"));
    CHECK(Contains(result.error().message, std::to_string(rows)));
  }
}

}  // namespace tokenizer_test
}  // namespace skald
