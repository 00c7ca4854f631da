// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of stored chunks: the input is a chunk as a store may return it. It is read unchanged, and again
// with corrected lengths and checksum, like a forgery, so that mutations reach the content after them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/store/chunks/chunk_codec.h"

namespace {

constexpr uint64_t kMaxContent = 1 << 16;

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void Read(const skald::ChunkKey& key, std::span<const std::byte> chunk) {
  const auto decoded = skald::DecodeChunk(key, chunk, kMaxContent);
  if (!decoded) return;
  Require(decoded->content.size() == decoded->header.content_bytes && decoded->content.size() <= kMaxContent);
  skald::ChunkBytes into(decoded->content.size());
  Require(skald::DecodeChunkInto(key, chunk, into).has_value() && into == decoded->content);
  // Content that can be read can be written again.
  const auto again = skald::EncodeChunk(key, decoded->header.format, decoded->content);
  Require(again.has_value());
  const auto reread = skald::DecodeChunk(key, *again, kMaxContent);
  const bool is_lossy = decoded->header.format.codec == skald::ChunkCodec::kInt8Zstd;
  Require(reread.has_value() && (is_lossy || reread->content == decoded->content));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace internal = skald::internal;
  const auto bytes = std::as_bytes(std::span(data, size));
  skald::ChunkBytes chunk(bytes.begin(), bytes.end());
  if (chunk.size() < skald::kChunkHeaderBytes) {
    Read({}, chunk);
    return 0;
  }
  const auto key = internal::LoadAt<skald::ChunkKey>(chunk, internal::kKeyAt);
  Read(key, chunk);
  internal::StoreAt(std::span(chunk), internal::kPayloadBytesAt, uint64_t{chunk.size() - skald::kChunkHeaderBytes});
  internal::StoreAt(std::span(chunk), internal::kChecksumAt, internal::ChunkChecksum(chunk));
  Read(key, chunk);
  return 0;
}
