// SPDX-License-Identifier: Apache-2.0
//
// ChunkFolder: one file per chunk, named by its key, in subfolders named by the key's first two digits. Which chunks
// stay and which go is directory_store.h's business; here they are found, read, written and removed.

#ifndef SKALD_STORE_CHUNK_FOLDER_H_
#define SKALD_STORE_CHUNK_FOLDER_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/fd_io.h"
#include "skald/base/result.h"
#include "skald/store/chunk_key.h"
#include "skald/store/chunk_store.h"

namespace skald {

// A moment, as exactly as file systems keep it: since 1970, by the system's clock.
struct FileTime {
  int64_t seconds = 0, nanoseconds = 0;

  static FileTime Now() {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    return Of(now);
  }
  static FileTime Of(const timespec& time) { return {time.tv_sec, time.tv_nsec}; }

  friend auto operator<=>(const FileTime&, const FileTime&) = default;
};

// What a folder says of a chunk without its being read.
struct StoredChunk {
  ChunkKey key;
  uint64_t bytes = 0;
  FileTime last_used;
};

namespace internal {

// Immutable, and safe to use from several threads and processes at once: nothing is ever changed in place.
class ChunkFolder {
 public:
  explicit ChunkFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }

  // Whether there is such a chunk; notes that it was used now, where the medium allows.
  Result<bool> MarkUsed(const ChunkKey& key) const {
    const std::string file = PathOf(key);
    struct stat status;
    if (::stat(file.c_str(), &status) != 0) {
      if (errno == ENOENT) return false;
      return SystemFailure(file);
    }
    if (!S_ISREG(status.st_mode)) return NoChunk(file, "no regular file");
    const timespec times[2] = {AccessTime(FileTime::Now()), kUnchanged};
    ::utimensat(AT_FDCWD, file.c_str(), times, 0);
    return true;
  }

  // Reads the first `most` bytes of a chunk, or all where there are fewer. Leaves the time of its last use as it is or,
  // with `use`, sets it to now, where the medium allows.
  Result<ChunkBytes> Read(const ChunkKey& key, bool use, uint64_t most = kMaxChunkBytes) const {
    const std::string name = PathOf(key);
    // Without O_NONBLOCK a pipe that someone put there would keep us waiting.
    const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0 && errno == ENOENT) return ChunkNotFound(key);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return SystemFailure(name);
    if (!S_ISREG(status.st_mode)) return NoChunk(name, "no regular file");
    const auto size = static_cast<uint64_t>(status.st_size);
    if (size > kMaxChunkBytes) return NoChunk(name, "larger than " + std::to_string(kMaxChunkBytes) + " bytes");
    ChunkBytes bytes(static_cast<size_t>(std::min(size, most)));
    if (auto read = FdStream(file.get(), name).Read(bytes); !read) return Failure(read.error());
    // By itself a file system notes some reads and not others.
    const timespec times[2] = {AccessTime(use ? FileTime::Now() : FileTime::Of(status.st_atim)), kUnchanged};
    ::futimens(file.get(), times);
    return bytes;
  }

  // Writes a file that is there as a whole or not at all. One that is there already is replaced by the same bytes.
  Result<void> Write(const ChunkKey& key, std::span<const std::byte> value, SyncPolicy sync) const {
    auto sink = CreateFile(PathOf(key), sync);
    if (!sink) return Failure(sink.error());
    if (auto written = sink->Write(value); !written) return written;
    return sink->Commit(sync);
  }

  // Succeeds too where there is no such chunk.
  Result<void> Remove(const ChunkKey& key) const {
    const std::string file = PathOf(key);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) return SystemFailure(file);
    return {};
  }

  // All chunks; foreign files and unfinished ones are none.
  Result<std::vector<ChunkKey>> List() const {
    std::vector<ChunkKey> keys;
    const auto walked = ForEachFile([&keys](const std::filesystem::directory_entry& file, const std::string& name) {
      std::error_code error;
      const auto key = ChunkKey::FromHex(name);
      if (key && file.is_regular_file(error)) keys.push_back(*key);
    });
    if (!walked) return Failure(walked.error());
    return keys;
  }

  // The same with sizes and times.
  Result<std::vector<StoredChunk>> Chunks() const {
    const auto keys = List();
    if (!keys) return Failure(keys.error());
    std::vector<StoredChunk> chunks;
    chunks.reserve(keys->size());
    for (const ChunkKey& key : *keys) {
      struct stat status;
      const std::string file = PathOf(key);
      if (::stat(file.c_str(), &status) == 0) {
        chunks.push_back({key, static_cast<uint64_t>(status.st_size), FileTime::Of(status.st_atim)});
      } else if (errno != ENOENT) {  // else it went meanwhile
        return SystemFailure(file);
      }
    }
    return chunks;
  }

  // Removes unfinished files that nobody has written to since `before`. What cannot be removed stays.
  Result<void> RemoveUnfinished(const FileTime& before) const {
    return ForEachFile([&before](const std::filesystem::directory_entry& file, const std::string& name) {
      struct stat status;
      const bool is_ours = name.size() > ChunkKey::kHexDigits && name[ChunkKey::kHexDigits] == '.' &&
                           ChunkKey::FromHex(std::string_view(name).substr(0, ChunkKey::kHexDigits));
      if (!is_ours || ::lstat(file.path().c_str(), &status) != 0) return;
      if (FileTime::Of(status.st_mtim) < before) ::unlink(file.path().c_str());
    });
  }

 private:
  static constexpr timespec kUnchanged = {.tv_sec = 0, .tv_nsec = UTIME_OMIT};

  static timespec AccessTime(const FileTime& time) {
    return {.tv_sec = static_cast<time_t>(time.seconds), .tv_nsec = static_cast<long>(time.nanoseconds)};
  }

  static Failure NoChunk(const std::string& file, const std::string& why) {
    return Fail(ErrorCode::kDataLoss, file + ": expected a chunk, this is " + why);
  }

  std::string PathOf(const ChunkKey& key) const {
    const std::string hex = key.ToHex();
    return (path_ / hex.substr(0, 2) / hex).string();
  }

  // Makes the folders that are missing, so that a store whose folder was cleared away goes on.
  Result<FileSink> CreateFile(const std::filesystem::path& file, SyncPolicy sync) const {
    auto sink = FileSink::Create(file);
    if (sink || sink.error().code != ErrorCode::kNotFound) return sink;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    if (error) return Fail(ErrorCode::kFailedPrecondition, file.parent_path().string() + ": " + error.message());
    if (sync == SyncPolicy::kDataAndFolder) {
      if (auto synced = SyncFolder(path_); !synced) return Failure(synced.error());
    }
    return FileSink::Create(file);
  }

  // Calls visit(directory_entry, name) for whatever lies in the subfolders. What goes meanwhile may be left out.
  template <class Visit>
  Result<void> ForEachFile(Visit visit) const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const char high : kDigits) {
      for (const char low : kDigits) {
        const std::filesystem::path subfolder = path_ / std::string{high, low};
        std::error_code error;
        std::filesystem::directory_iterator file(subfolder, error);
        for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
          visit(*file, file->path().filename().string());
        }
        const bool is_none = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
        if (error && !is_none) return Fail(ErrorCode::kFailedPrecondition, subfolder.string() + ": " + error.message());
      }
    }
    return {};
  }

  std::filesystem::path path_;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_CHUNK_FOLDER_H_
