// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/chunk_folder.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_CHUNK_FOLDER_H_
#define SKALD_STORE_BACKENDS_DETAIL_CHUNK_FOLDER_H_

#include "skald/store/backends/chunk_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include "skald/base/files/path_text.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<bool> ChunkFolder::MarkUsed(const ChunkKey& key) const {
  const std::filesystem::path file = PathOf(key);
  const auto facts = FactsOf(file);
  if (!facts) {
    if (errno == ENOENT) return false;
    return SystemFailure(PathText(file));
  }
  if (facts->kind != FileKind::kRegular) return NoChunk(file, "not a regular file");
  (void)SetAccessTime(file, FileTime::Now());
  return true;
}

SKALD_INLINE Result<ChunkBytes> ChunkFolder::Read(const ChunkKey& key, bool use, uint64_t most) const {
  SKALD_ASSIGN(auto front, ReadFront(key, use, most));
  if (front.bytes > kMaxChunkBytes) {
    return NoChunk(PathOf(key), "larger than " + std::to_string(kMaxChunkBytes) + " bytes");
  }
  return std::move(front.front);
}

SKALD_INLINE Result<ChunkFront> ChunkFolder::ReadFront(const ChunkKey& key, bool use, uint64_t most) const {
  const std::filesystem::path name = PathOf(key);
  const Descriptor file = OpenToRead(name);
  if (file.get() < 0 && errno == ENOENT) return ChunkNotFound(key);
  const auto facts = file.get() < 0 ? std::nullopt : FactsOf(file.get());
  if (!facts) return SystemFailure(PathText(name));
  if (facts->kind != FileKind::kRegular) return NoChunk(name, "not a regular file");
  ChunkFront front{facts->bytes, {}};
  front.front.resize(static_cast<size_t>(std::min({front.bytes, most, kMaxChunkBytes})));
  SKALD_TRY(ReadAll(file.get(), PathText(name), front.front));
  // File systems record some reads and not others by default.
  (void)SetAccessTime(file.get(), use ? FileTime::Now() : facts->accessed);
  return front;
}

SKALD_INLINE Result<void> ChunkFolder::Write(const ChunkKey& key, std::span<const std::byte> value,
                                             SyncPolicy sync) const {
  SKALD_ASSIGN(auto sink, CreateFile(PathOf(key), sync));
  SKALD_TRY(sink.Write(value));
  return sink.Commit(sync);
}

SKALD_INLINE Result<void> ChunkFolder::Remover::Remove(const ChunkKey& key) {
  std::array<char, ChunkKey::kHexDigits> hex;
  key.WriteHex(hex.data());
  const auto name = file_.end() - ChunkKey::kHexDigits;
  std::copy(hex.begin(), hex.end(), name);
  std::copy_n(hex.begin(), kSubfolderDigits, name - 1 - kSubfolderDigits);
  if (!RemoveName(file_.c_str()) && errno != ENOENT) return SystemFailure(TextOfNative(file_));
  return {};
}

SKALD_INLINE Result<std::vector<ChunkKey>> ChunkFolder::List() const {
  std::vector<ChunkKey> keys;
  SKALD_TRY(ForEachSubfolder([&keys](const std::filesystem::path& subfolder) {
    return ForEachEntry(subfolder, [&](const FolderEntry& file) {
      const auto key = ChunkKey::FromHex(file.name);
      if (key && IsRegularFile(subfolder, file)) keys.push_back(*key);
    });
  }));
  return keys;
}

SKALD_INLINE Result<std::vector<StoredChunk>> ChunkFolder::Chunks() const {
  SKALD_ASSIGN(const auto keys, List());
  std::vector<StoredChunk> chunks;
  chunks.reserve(keys.size());
  for (const ChunkKey& key : keys) {
    const std::filesystem::path file = PathOf(key);
    if (const auto facts = FactsOf(file)) {
      chunks.push_back({key, facts->bytes, facts->accessed});
    } else if (errno != ENOENT) {  // else another process removed it meanwhile
      return SystemFailure(PathText(file));
    }
  }
  return chunks;
}

SKALD_INLINE Result<void> ChunkFolder::RemoveUnfinished() const {
  return ForEachSubfolder([](const std::filesystem::path& subfolder) {
    return RemoveUnfinishedFiles(subfolder,
                                 [](std::string_view finished) { return ChunkKey::FromHex(finished).has_value(); });
  });
}

SKALD_INLINE bool ChunkFolder::IsRegularFile(const std::filesystem::path& folder, const FolderEntry& entry) {
  if (entry.kind != FileKind::kUnknown && entry.kind != FileKind::kLink) return entry.kind == FileKind::kRegular;
  const auto facts = FactsOf(folder / PathOfText(entry.name));
  return facts && facts->kind == FileKind::kRegular;
}

SKALD_INLINE Failure ChunkFolder::NoChunk(const std::filesystem::path& file, const std::string& why) {
  return Fail(ErrorCode::kDataLoss, Concat({PathText(file), ": expected a chunk, this is ", why}));
}

SKALD_INLINE std::filesystem::path ChunkFolder::PathOf(const ChunkKey& key) const {
  const std::string hex = key.ToHex();
  return path_ / hex.substr(0, kSubfolderDigits) / hex;
}

SKALD_INLINE Result<FileSink> ChunkFolder::CreateFile(const std::filesystem::path& file, SyncPolicy sync) const {
  const auto create = [&file] { return FileSink::CreateAnew(file, kPrivateFile, FileSink::Unfinished::kNamed); };
  auto sink = create();
  if (sink || sink.error().code != ErrorCode::kNotFound) return sink;
  SKALD_TRY(MakeFolder(file.parent_path(), kPrivateFolder, sync));
  return create();
}

template <class Visit>
Result<void> ChunkFolder::ForEachSubfolder(Visit visit) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char high : kDigits) {
    for (const char low : kDigits) {
      SKALD_TRY(visit(path_ / std::string{high, low}));
    }
  }
  return {};
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_CHUNK_FOLDER_H_
