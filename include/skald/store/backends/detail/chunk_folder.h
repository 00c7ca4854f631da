// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/chunk_folder.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_CHUNK_FOLDER_H_
#define SKALD_STORE_BACKENDS_DETAIL_CHUNK_FOLDER_H_

#include "skald/store/backends/chunk_folder.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE FileTime FileTime::Now() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Of(now);
}

namespace internal {

SKALD_INLINE Result<bool> ChunkFolder::MarkUsed(const ChunkKey& key) const {
  const std::string file = PathOf(key);
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return SystemFailure(file);
  }
  if (!S_ISREG(status.st_mode)) return NoChunk(file, "not a regular file");
  const timespec times[2] = {AccessTime(FileTime::Now()), kUnchanged};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
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
  const std::string name = PathOf(key);
  // Without O_NONBLOCK, opening a pipe in the folder would block.
  const Descriptor file = OpenFile(name.c_str(), O_RDONLY | O_NONBLOCK);
  if (file.get() < 0 && errno == ENOENT) return ChunkNotFound(key);
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return SystemFailure(name);
  if (!S_ISREG(status.st_mode)) return NoChunk(name, "not a regular file");
  ChunkFront front{static_cast<uint64_t>(status.st_size), {}};
  front.front.resize(static_cast<size_t>(std::min({front.bytes, most, kMaxChunkBytes})));
  SKALD_TRY(ReadAll(file.get(), name, front.front));
  // File systems record some reads and not others by default.
  const timespec times[2] = {AccessTime(use ? FileTime::Now() : FileTime::Of(status.st_atim)), kUnchanged};
  ::futimens(file.get(), times);
  return front;
}

SKALD_INLINE Result<void> ChunkFolder::Write(const ChunkKey& key, std::span<const std::byte> value,
                                             SyncPolicy sync) const {
  SKALD_ASSIGN(auto sink, CreateFile(PathOf(key), sync));
  SKALD_TRY(sink.Write(value));
  return sink.Commit(sync);
}

SKALD_INLINE Result<void> ChunkFolder::Remover::Remove(const ChunkKey& key) {
  char* const name = file_.data() + file_.size() - ChunkKey::kHexDigits;
  key.WriteHex(name);
  std::copy_n(name, kSubfolderDigits, name - 1 - kSubfolderDigits);
  if (::unlink(file_.c_str()) != 0 && errno != ENOENT) return SystemFailure(file_);
  return {};
}

SKALD_INLINE Result<std::vector<ChunkKey>> ChunkFolder::List() const {
  std::vector<ChunkKey> keys;
  SKALD_TRY(ForEachSubfolder([&keys](const std::filesystem::path& subfolder) {
    return ForEachEntry(subfolder, [&](const dirent& file) {
      const auto key = ChunkKey::FromHex(file.d_name);
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
    struct stat status;
    const std::string file = PathOf(key);
    if (::stat(file.c_str(), &status) == 0) {
      chunks.push_back({key, static_cast<uint64_t>(status.st_size), FileTime::Of(status.st_atim)});
    } else if (errno != ENOENT) {  // else another process removed it meanwhile
      return SystemFailure(file);
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

SKALD_INLINE timespec ChunkFolder::AccessTime(const FileTime& time) {
  return {.tv_sec = static_cast<time_t>(time.seconds), .tv_nsec = static_cast<long>(time.nanoseconds)};
}

SKALD_INLINE bool ChunkFolder::IsRegularFile(const std::filesystem::path& folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_REG;
  struct stat status;
  return ::stat((folder / entry.d_name).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

SKALD_INLINE Failure ChunkFolder::NoChunk(const std::string& file, const std::string& why) {
  return Fail(ErrorCode::kDataLoss, file + ": expected a chunk, this is " + why);
}

SKALD_INLINE std::string ChunkFolder::PathOf(const ChunkKey& key) const {
  const std::string hex = key.ToHex();
  return (path_ / hex.substr(0, kSubfolderDigits) / hex).string();
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
