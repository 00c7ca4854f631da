// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the readers of tokenizer.json and of its binary form: the input is either. An accepted tokenizer must encode
// any text, the input itself among them, into ids of its vocabulary that decode at once and id by id, and must be the
// same after conversion to its binary form.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/numbers/xxh64.h"
#include "skald/tokenizers/detail/engine_files.h"
#include "skald/tokenizers/detail/pipeline/pipeline_file.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void EncodeAndDecode(const Tokenizer& tokenizer, const Tokenizer& reopened, std::string_view text) {
  for (const ParseSpecial parse_special : {ParseSpecial::kNo, ParseSpecial::kYes}) {
    const auto ids = tokenizer.Encode(text, parse_special, AddSpecial::kYes);
    if (!ids) return Require(!ids.error().message.empty());
    Require(reopened.Encode(text, parse_special, AddSpecial::kYes) == *ids);
    StreamDecoder decoder(tokenizer);
    for (const int32_t id : *ids) Require(decoder.Push(id).has_value());
    decoder.Flush();
    Require(tokenizer.Decode(*ids).has_value() && tokenizer.Decode(*ids, SkipSpecial::kNo).has_value());
  }
}

void ReadBytes(std::string_view bytes) {
  const Result<Tokenizer> tokenizer = Tokenizer::Parse(bytes);
  if (!tokenizer) return Require(!tokenizer.error().message.empty());
  const Result<std::string> quick = tokenizer->ToBytes();
  Require(quick.has_value());
  const Result<Tokenizer> reopened = Tokenizer::Parse(*quick);
  Require(reopened.has_value());
  EncodeAndDecode(*tokenizer, *reopened, "Hello world's 12345 <s>\r\n\t  \xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\xFF ab");
  constexpr size_t kMost = 2048;
  EncodeAndDecode(*tokenizer, *reopened, bytes.substr(0, kMost));
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (skald::internal::IsPipelineFile(bytes)) {
    // Sets a correct checksum, so that the rest is read. Its data about whole words may be anything.
    std::string repaired(bytes);
    if (size < 8 + sizeof(uint64_t)) return 0;
    const auto content = std::as_bytes(std::span(repaired)).first(size - sizeof(uint64_t));
    const uint64_t checksum = skald::Xxh64(content);
    std::memcpy(repaired.data() + content.size(), &checksum, sizeof checksum);
    skald::ReadBytes(repaired);
  } else if (skald::internal::IsTokenizerJson(bytes)) {
    skald::ReadBytes(bytes);  // models of SentencePiece are for sources that one trusts
  }
  return 0;
}
