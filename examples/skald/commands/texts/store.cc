// SPDX-License-Identifier: Apache-2.0

#include "commands/texts/store.h"

#if defined(SKALD_HAS_STORE)

#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "skald/store/backends/directory_store.h"
#include "skald/store/chunks/chunk_codec.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

std::string_view NameOf(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kTokens:
      return "tokens";
    case ChunkKind::kResumePoint:
      return "checkpoint";
    case ChunkKind::kManifest:
      return "manifest";
    case ChunkKind::kPointer:
      return "pointer";
    case ChunkKind::kTranscript:
      return "transcript";
  }
  return "";
}

std::string_view NameOf(ChunkCodec codec) {
  switch (codec) {
    case ChunkCodec::kNone:
      return "none";
    case ChunkCodec::kSplitZstd:
      return "split+zstd";
    case ChunkCodec::kInt8Zstd:
      return "int8+zstd";
  }
  return "";
}

std::string Describe(const ChunkCount& count) {
  return std::to_string(count.chunks) + (count.chunks == 1 ? " chunk, " : " chunks, ") + std::to_string(count.bytes) +
         " bytes";
}

// Reports the error of a chunk. Returns false if it is none: another process dropped the chunk meanwhile.
bool Complain(const Error& error) {
  if (error.code == ErrorCode::kNotFound) return false;
  Report(error.message);
  return true;
}

// Prints a line for each chunk, and what they are together. Files without a chunk's header are only counted.
Result<int> List(const DirectoryStore& store) {
  SKALD_ASSIGN(const auto chunks, store.ListByUse());
  ChunkCount stored;
  uint64_t content_bytes = 0;
  for (const StoredChunk& chunk : chunks) {
    const auto front = store.Peek(chunk.key, kChunkHeaderBytes);
    const auto header = front ? PeekChunkHeader(chunk.key, *front) : Result<ChunkHeader>(Failure(front.error()));
    if (!header && !Complain(header.error())) continue;
    stored = {stored.chunks + 1, stored.bytes + chunk.bytes};
    const std::string_view kind = header ? NameOf(header->format.kind) : "damaged";
    std::cout << chunk.key.ToHex() << ' ' << std::left << std::setw(10) << kind << ' ' << std::right << std::setw(10)
              << chunk.bytes;
    if (header) {
      content_bytes += header->content_bytes;
      std::cout << ' ' << std::setw(10) << header->content_bytes << ' ' << NameOf(header->format.codec);
    }
    std::cout << '\n';
  }
  std::cout << Describe(stored) << ", " << content_bytes << " bytes of content\n";
  return 0;
}

Result<int> Verify(const DirectoryStore& store) {
  SKALD_ASSIGN(const auto keys, store.List());
  ChunkCount whole, damaged;
  for (const ChunkKey& key : keys) {
    const auto stored = store.Peek(key);
    const auto chunk = stored ? DecodeChunk(key, *stored) : Result<DecodedChunk>(Failure(stored.error()));
    if (!chunk && !Complain(chunk.error())) continue;
    ChunkCount& count = chunk ? whole : damaged;
    count = {count.chunks + 1, count.bytes + (stored ? stored->size() : 0)};
  }
  std::cout << "whole: " << Describe(whole) << "; damaged: " << Describe(damaged) << '\n';
  return damaged.chunks == 0 ? 0 : kExitError;
}

Result<int> Prune(DirectoryStore& store, uint64_t max_bytes) {
  SKALD_ASSIGN(const auto dropped, store.Prune(max_bytes));
  std::cout << "dropped: " << Describe(dropped) << '\n';
  return 0;
}

}  // namespace

Result<int> RunStore(const Options& options) {
  // Opening it would make it, and a folder whose name was mistyped should not come into being.
  std::error_code error;
  if (!std::filesystem::exists(options.store, error)) {
    return Fail(ErrorCode::kNotFound, options.store.string() + ": no such folder");
  }
  SKALD_ASSIGN(const auto store, DirectoryStore::Open(options.store));
  if (options.prune_bytes) {
    SKALD_TRY(Prune(*store, *options.prune_bytes));
  }
  if (options.verify) return Verify(*store);
  return options.prune_bytes ? 0 : List(*store);
}

}  // namespace skald::program

#else

namespace skald::program {

Result<int> RunStore(const Options&) {
  return Fail(ErrorCode::kUnsupported,
              "this program was built without skald::store, which needs libcrypto, zstd and xxHash");
}

}  // namespace skald::program

#endif  // SKALD_HAS_STORE
