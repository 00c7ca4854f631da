// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes tokenizers from the metadata of GGUF files: the input is a file. An accepted tokenizer must encode any text,
// the file's own bytes among them, into ids of its vocabulary that can be decoded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/gguf.h"

namespace skald {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void EncodeAndDecode(const Tokenizer& tokenizer, std::string_view text) {
  for (const ParseSpecial parse_special : {ParseSpecial::kNo, ParseSpecial::kYes}) {
    const auto ids = tokenizer.Encode(text, parse_special, AddSpecial::kYes);
    if (!ids) return Require(!ids.error().message.empty());
    for (const int32_t id : *ids) Require(id >= 0 && static_cast<size_t>(id) < tokenizer.vocab_size());
    Require(tokenizer.Decode(*ids).has_value());
  }
}

void ReadFile(std::span<const std::byte> image) {
  const Result<GgufContents> contents = ParseGguf("input", image);
  if (!contents) return;
  const Result<Tokenizer> tokenizer = Tokenizer::Load(contents->metadata);
  if (!tokenizer) return Require(!tokenizer.error().message.empty());
  EncodeAndDecode(*tokenizer, "Hello world's 12345 <s>\r\n\t  \xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\xFF ab");
  constexpr size_t kMost = 4096;
  EncodeAndDecode(*tokenizer, {reinterpret_cast<const char*>(image.data()), std::min(image.size(), kMost)});
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::ReadFile(std::as_bytes(std::span(data, size)));
  return 0;
}
