// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/detail/sentencepiece/sentencepiece_file.h"

#include <string>

#include "doctest/doctest.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace sentencepiece_file_test {

using internal::CheckSentencePieceOutline;

std::string ErrorOf(std::string_view bytes) {
  const Result<void> result = CheckSentencePieceOutline(bytes);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::kDataLoss);
  return result.error().message;
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("the outline of real models is accepted") {
  for (const char* name : kTestTokenizers) {
    CHECK(CheckSentencePieceOutline(ReadBytes(TokenizerPath(name))).has_value());
  }
}

TEST_CASE("a model cut short at any byte is refused") {
  for (const char* name : kTestTokenizers) {
    const std::string bytes = ReadBytes(TokenizerPath(name));
    size_t accepted = 0;
    for (size_t size = 0; size < bytes.size(); ++size) {
      accepted += CheckSentencePieceOutline(std::string_view(bytes).substr(0, size)).has_value();
    }
    CHECK_MESSAGE(accepted == 0, name);
  }
}

TEST_CASE("a model with bytes behind its end is refused") {
  const std::string bytes = ReadBytes(TokenizerPath("gemma_style"));
  CHECK(Contains(ErrorOf(bytes + '\n'), "at byte " + std::to_string(bytes.size()) + " is not whole"));
}

TEST_CASE("files of other kinds are told to be no SentencePiece model") {
  CHECK(Contains(ErrorOf(""), "no bytes"));
  CHECK(Contains(ErrorOf("{\"version\": \"1.0\", \"truncation\": null}"), "not a SentencePiece model"));
  CHECK(Contains(ErrorOf("<!DOCTYPE html><html></html>"), "not a SentencePiece model"));
  CHECK(Contains(ErrorOf(std::string("GGUF\3\0\0\0", 8)), "not a SentencePiece model"));
  CHECK(Contains(ErrorOf(std::string(100, '\0')), "not a SentencePiece model"));
  CHECK(Contains(ErrorOf(std::string(100, '\xFF')), "not a SentencePiece model"));
}

TEST_CASE("lengths that overflow or point past the end are refused") {
  const std::string piece = "\x0A\x03\x0A\x01x";  // field 1, three bytes
  // Field 2 with a length of 2^64 - 1, of 2^63, of an endless number, and of one byte too many.
  for (const std::string& field : {std::string("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
                                   std::string("\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
                                   std::string("\x12") + std::string(20, '\xFF'), std::string("\x12\x02z")}) {
    CHECK(Contains(ErrorOf(piece + field), "damaged or cut short"));
  }
}

TEST_CASE("fields of every wire type are skipped and unknown wire types refused") {
  const std::string model = "\x0A\x03\x0A\x01x" + std::string("\x12\x00\x1A\x00", 4);
  CHECK(CheckSentencePieceOutline(model).has_value());
  CHECK(CheckSentencePieceOutline(model + "\x40\x05").has_value());                    // 8: varint
  CHECK(CheckSentencePieceOutline(model + "\x41" + std::string(8, 'x')).has_value());  // 8: 64 bits
  CHECK(CheckSentencePieceOutline(model + "\x45" + std::string(4, 'x')).has_value());  // 8: 32 bits
  for (const char* tag : {"\x43", "\x44", "\x46", "\x47"}) {
    CHECK(Contains(ErrorOf(model + tag), "not whole"));
  }
}

}  // namespace sentencepiece_file_test
}  // namespace skald
