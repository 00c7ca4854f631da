// SPDX-License-Identifier: Apache-2.0
//
// Stored chunks: what goes in comes out, whatever it is; whatever else comes from a store is refused with a sentence.

#include "skald/store/chunks/chunk_codec.h"
#include "skald/base/numbers/bf16.h"

#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/numbers/sha256.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace chunk_codec_test {

constexpr ChunkKind kKinds[] = {ChunkKind::kTokens, ChunkKind::kResumePoint, ChunkKind::kManifest, ChunkKind::kPointer,
                                ChunkKind::kTranscript};
constexpr ChunkElement kElements[] = {ChunkElement::kBytes, ChunkElement::kF32, ChunkElement::kF16, ChunkElement::kBF16,
                                      ChunkElement::kI8};
constexpr ChunkCodec kLossless[] = {ChunkCodec::kNone, ChunkCodec::kSplitZstd};

ChunkKey KeyOf(std::string_view text) { return {*Sha256().Update(text).Finish()}; }
const ChunkKey kKey = KeyOf("a chunk");

ChunkBytes Noise(size_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
  ChunkBytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Data much like that of caches: signs and exponents alike, mantissas not.
ChunkBytes Smooth(size_t size) {
  ChunkBytes bytes = Noise(size);
  for (size_t i = 1; i < size; i += 2) bytes[i] = std::byte{0x3F};
  return bytes;
}

void CheckRoundTrip(const ChunkFormat& format, const ChunkBytes& content) {
  CAPTURE(content.size());
  const auto chunk = EncodeChunk(kKey, format, content);
  REQUIRE(chunk);
  CHECK(chunk->size() <= kChunkHeaderBytes + content.size() + 4 * sizeof(uint64_t));
  const auto decoded = DecodeChunk(kKey, *chunk);
  REQUIRE(decoded);
  CHECK(decoded->content == content);
  CHECK(decoded->header.format == format);
  CHECK(decoded->header.key == kKey);
  CHECK(decoded->header.content_bytes == content.size());
  ChunkBytes into(content.size());
  REQUIRE(DecodeChunkInto(kKey, *chunk, into));
  CHECK(into == content);
}

TEST_CASE("every kind, element and lossless codec gives back what went in, at every size") {
  for (const ChunkElement element : kElements) {
    const size_t size = SizeOf(element);
    for (const ChunkCodec codec : kLossless) {
      for (const ChunkKind kind : kKinds) {
        for (const size_t elements : {0u, 1u, 3u, 63u, 64u, 65u, 1001u}) {
          const size_t bytes = elements * size;
          for (const ChunkBytes& content : {Noise(bytes), Smooth(bytes), ChunkBytes(bytes)}) {
            CheckRoundTrip({kind, element, codec}, content);
          }
        }
      }
      for (const ChunkBytes& content : {Noise(300 << 10), Smooth(300 << 10), ChunkBytes(300 << 10)}) {
        CheckRoundTrip({ChunkKind::kTokens, element, codec}, content);
      }
    }
  }
}

TEST_CASE("what repeats itself is stored smaller, what does not is stored hardly larger") {
  const auto size = [](const ChunkBytes& content) {
    return EncodeChunk(kKey, {.element = ChunkElement::kBF16}, content)->size();
  };
  CHECK(size(ChunkBytes(300 << 10)) < 300);
  CHECK(size(Smooth(300 << 10)) < (151 << 10));
  CHECK(size(Noise(300 << 10)) <= (300 << 10) + kChunkHeaderBytes + 2 * sizeof(uint64_t));
}

void CheckRefused(std::span<const std::byte> chunk, ErrorCode code, const std::string& text,
                  uint64_t max_content_bytes = kMaxChunkContent, const ChunkKey& key = kKey) {
  const auto decoded = DecodeChunk(key, chunk, max_content_bytes);
  REQUIRE_FALSE(decoded);
  CAPTURE(decoded.error().message);
  CHECK(decoded.error().code == code);
  CHECK(decoded.error().message.find(text) != std::string::npos);
  CHECK(decoded.error().message.find(key.ToHex()) != std::string::npos);
}

TEST_CASE("contents that a format has no form for are refused") {
  const auto refused = [](const ChunkFormat& format, const ChunkBytes& content, const std::string& text) {
    const auto chunk = EncodeChunk(kKey, format, content);
    REQUIRE_FALSE(chunk);
    CHECK(chunk.error().code == ErrorCode::kInvalidArgument);
    CHECK(chunk.error().message.find(text) != std::string::npos);
  };
  for (const ChunkCodec codec : {ChunkCodec::kNone, ChunkCodec::kSplitZstd, ChunkCodec::kInt8Zstd}) {
    refused({.element = ChunkElement::kF32, .codec = codec}, ChunkBytes(7), "elements of 4");
    refused({.element = ChunkElement::kBF16, .codec = codec}, ChunkBytes(7), "elements of 2");
  }
  for (const ChunkElement element : {ChunkElement::kBytes, ChunkElement::kI8}) {
    refused({.element = element, .codec = ChunkCodec::kInt8Zstd}, ChunkBytes(64), "bytes have no lossy form");
  }
  // Never touched, so it takes no memory.
  const std::span<const std::byte> huge(kKey.bytes.data(), kMaxChunkContent + 1);
  CHECK(EncodeChunk(kKey, {}, huge).error().message.find("the format allows 268435456") != std::string::npos);
}

TEST_CASE("no byte of a chunk can be changed unnoticed, and none can be missing") {
  for (const ChunkCodec codec : {ChunkCodec::kNone, ChunkCodec::kSplitZstd, ChunkCodec::kInt8Zstd}) {
    const ChunkBytes chunk = *EncodeChunk(kKey, {.element = ChunkElement::kBF16, .codec = codec}, Smooth(200));
    REQUIRE(DecodeChunk(kKey, chunk));
    for (size_t i = 0; i < chunk.size(); ++i) {
      CAPTURE(i);
      for (int bit = 0; bit < 8; ++bit) {
        ChunkBytes damaged = chunk;
        damaged[i] ^= std::byte{static_cast<uint8_t>(1 << bit)};
        CHECK_FALSE(DecodeChunk(kKey, damaged));
      }
      const auto cut = DecodeChunk(kKey, std::span(chunk).first(i));
      REQUIRE_FALSE(cut);
      CHECK(cut.error().code == ErrorCode::kDataLoss);
    }
    ChunkBytes longer = chunk;
    longer.push_back({});
    CheckRefused(longer, ErrorCode::kDataLoss, "bytes after the header");
  }
}

TEST_CASE("a chunk is only ever read as itself, and within the caller's limit") {
  const ChunkBytes chunk = *EncodeChunk(kKey, {}, Smooth(200));
  CheckRefused(chunk, ErrorCode::kDataLoss, "it holds chunk " + kKey.ToHex(), 200, KeyOf("another"));
  CheckRefused(chunk, ErrorCode::kOutOfRange, "200 bytes of content, the limit is 199", 199);
  CHECK(DecodeChunk(kKey, chunk, 200));
  ChunkBytes content(201);
  CHECK(DecodeChunkInto(kKey, chunk, content).error().code == ErrorCode::kDataLoss);
  CHECK(DecodeChunkInto(kKey, chunk, std::span(content).first(199)).error().code == ErrorCode::kOutOfRange);
}

// The checksum as CHUNK_FORMAT.md has it, made right again after a change: damage that no checksum finds.
ChunkBytes Forge(ChunkBytes chunk) {
  const uint64_t header = XXH3_64bits(chunk.data(), 64);
  const uint64_t checksum = XXH3_64bits_withSeed(chunk.data() + 72, chunk.size() - 72, header);
  std::memcpy(chunk.data() + 64, &checksum, sizeof checksum);
  return chunk;
}

template <class T>
ChunkBytes Forge(ChunkBytes chunk, size_t offset, T value) {
  std::memcpy(chunk.data() + offset, &value, sizeof value);
  return Forge(chunk);
}

TEST_CASE("a right checksum over a header that makes no sense does not help") {
  const ChunkBytes chunk = *EncodeChunk(kKey, {.element = ChunkElement::kF32}, Smooth(200));
  REQUIRE(DecodeChunk(kKey, Forge(chunk)));
  CheckRefused(Forge<uint8_t>(chunk, 0, 's'), ErrorCode::kDataLoss, "does not begin with 'SkaldChk'");
  CheckRefused(Forge<uint16_t>(chunk, 8, 2), ErrorCode::kUnsupported, "format version: expected 1, found 2");
  CheckRefused(Forge<uint8_t>(chunk, 10, 0), ErrorCode::kUnsupported, "kind 0");
  CheckRefused(Forge<uint8_t>(chunk, 10, 6), ErrorCode::kUnsupported, "kind 6");
  CheckRefused(Forge<uint8_t>(chunk, 11, 3), ErrorCode::kUnsupported, "codec 3");
  CheckRefused(Forge<uint8_t>(chunk, 12, 5), ErrorCode::kUnsupported, "element type 5");
  for (const size_t reserved : {13u, 14u, 15u}) {
    CheckRefused(Forge<uint8_t>(chunk, reserved, 1), ErrorCode::kUnsupported, "reserved byte 1");
  }
  CheckRefused(Forge<uint64_t>(chunk, 16, 199), ErrorCode::kDataLoss, "not a whole number of elements");
  for (const uint64_t content_bytes : {0, 196, 204, 4000}) {
    CheckRefused(Forge(chunk, 16, content_bytes), ErrorCode::kDataLoss, "part ");
  }
  CheckRefused(Forge(chunk, 16, ~uint64_t{3}), ErrorCode::kOutOfRange, "the limit is 268435456");
  CheckRefused(Forge(chunk, 24, ~uint64_t{0}), ErrorCode::kDataLoss, "bytes after the header");
  CheckRefused(Forge<uint8_t>(chunk, 32, 0), ErrorCode::kDataLoss, "it holds chunk 00");
  CheckRefused(Forge<uint8_t>(chunk, 11, 2), ErrorCode::kDataLoss, "part ");  // read as another codec
  CheckRefused(Forge<uint8_t>(chunk, 11, 0), ErrorCode::kDataLoss, "bytes of content: expected 200, found");
}

TEST_CASE("nor over a payload that makes no sense") {
  const ChunkBytes chunk = *EncodeChunk(kKey, {.element = ChunkElement::kBF16}, Smooth(200));
  // Two lengths, 100 bytes of mantissas as they are, and packed exponents.
  REQUIRE(internal::LoadAt<uint64_t>(chunk, 72) == 100);
  REQUIRE(internal::LoadAt<uint64_t>(chunk, 80) < 100);
  CheckRefused(Forge(chunk, 72, ~uint64_t{0}), ErrorCode::kDataLoss, "part 0 claims 18446744073709551615 bytes");
  CheckRefused(Forge<uint64_t>(chunk, 72, 101), ErrorCode::kDataLoss, "part 0 claims 101 bytes");
  CheckRefused(Forge<uint64_t>(chunk, 72, 99), ErrorCode::kDataLoss, "part 0 cannot be decompressed");
  CheckRefused(Forge<uint64_t>(chunk, 80, 100), ErrorCode::kDataLoss, "part 1 claims 100 bytes");
  CheckRefused(Forge<uint64_t>(chunk, 80, 0), ErrorCode::kDataLoss, "part 1");
  CheckRefused(Forge<uint8_t>(chunk, 188, 0), ErrorCode::kDataLoss, "part 1 cannot be decompressed");
  const auto resized = [&](size_t payload) {
    ChunkBytes other = chunk;
    other.resize(kChunkHeaderBytes + payload);
    return Forge<uint64_t>(other, 24, payload);
  };
  CheckRefused(resized(15), ErrorCode::kDataLoss, "expected 16 bytes of lengths, found 15");
  CheckRefused(resized(chunk.size() - kChunkHeaderBytes + 1), ErrorCode::kDataLoss, "1 bytes follow the last part");
}

TEST_CASE("a part that unpacks to fewer bytes than its chunk has is refused") {
  ChunkBytes chunk = *EncodeChunk(kKey, {}, ChunkBytes(100));
  const ChunkBytes shorter = *EncodeChunk(kKey, {}, ChunkBytes(90));
  REQUIRE(shorter.size() == chunk.size());
  std::copy(shorter.begin() + kChunkHeaderBytes, shorter.end(), chunk.begin() + kChunkHeaderBytes);
  CheckRefused(Forge(chunk), ErrorCode::kDataLoss, "part 0 has 90 bytes, expected 100");
}

TEST_CASE("chunks written by the first release are read") {
  // Numbers that every codec represents exactly: quarters, and in each group of 32 one that is 127 of them.
  ChunkBytes expected(300 * sizeof(bf16));
  for (int i = 0; i < 300; ++i) {
    const bf16 value = RoundToBF16(0.25f * static_cast<float>(i % 32 == 0 ? 127 : i * 37 % 255 - 127));
    std::memcpy(expected.data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
  }
  const ChunkKey key = KeyOf("chunk_v1");
  for (const auto& [name, codec] : {std::pair{"none", ChunkCodec::kNone}, std::pair{"split", ChunkCodec::kSplitZstd},
                                    std::pair{"int8", ChunkCodec::kInt8Zstd}}) {
    CAPTURE(name);
    std::ifstream file(RepositoryPath("tests/store/data/chunk_v1_" + std::string(name) + ".bin"), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const auto decoded = DecodeChunk(key, std::as_bytes(std::span(bytes)));
    REQUIRE(decoded);
    CHECK(decoded->header.format == ChunkFormat{ChunkKind::kTokens, ChunkElement::kBF16, codec});
    CHECK(decoded->content == expected);
  }
}

TEST_CASE("a key is written as hexadecimal digits in one way only") {
  const std::string hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  CHECK(KeyOf("hello").ToHex() == hex);  // FIPS 180-4's function, from elsewhere
  CHECK(*ChunkKey::FromHex(hex) == KeyOf("hello"));
  for (const std::string& wrong : {hex.substr(1), hex + "0", std::string(), "2C" + hex.substr(2), "g0" + hex.substr(2),
                                   hex.substr(2) + " 0", "0x" + hex.substr(2), hex.substr(1) + '\0'}) {
    CAPTURE(wrong);
    const auto key = ChunkKey::FromHex(wrong);
    REQUIRE_FALSE(key);
    CHECK(key.error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(KeyOf("hello") < *ChunkKey::FromHex("2d" + hex.substr(2)));
}

}  // namespace chunk_codec_test
}  // namespace skald::testing
