// SPDX-License-Identifier: Apache-2.0
//
// ChunkFolder: one file per chunk, named by its key, in subfolders named by the key's first two digits. Which chunks
// stay and which go is directory_store.h's business; here they are found, read, written and removed.

#ifndef SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_
#define SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_

#include <dirent.h>
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
#include <utility>
#include <vector>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/system_call.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

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
    auto front = ReadFront(key, use, most);
    if (!front) return Failure(front.error());
    if (front->bytes > kMaxChunkBytes) {
      return NoChunk(PathOf(key), "larger than " + std::to_string(kMaxChunkBytes) + " bytes");
    }
    return std::move(front->front);
  }

  // The same with the chunk's length, whatever that is.
  Result<ChunkFront> ReadFront(const ChunkKey& key, bool use, uint64_t most) const {
    const std::string name = PathOf(key);
    // Without O_NONBLOCK a pipe that someone put there would keep us waiting.
    const Descriptor file = OpenFile(name.c_str(), O_RDONLY | O_NONBLOCK);
    if (file.get() < 0 && errno == ENOENT) return ChunkNotFound(key);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return SystemFailure(name);
    if (!S_ISREG(status.st_mode)) return NoChunk(name, "no regular file");
    ChunkFront front{static_cast<uint64_t>(status.st_size), {}};
    front.front.resize(static_cast<size_t>(std::min({front.bytes, most, kMaxChunkBytes})));
    if (auto read = ReadAll(file.get(), name, front.front); !read) return Failure(read.error());
    // By itself a file system notes some reads and not others.
    const timespec times[2] = {AccessTime(use ? FileTime::Now() : FileTime::Of(status.st_atim)), kUnchanged};
    ::futimens(file.get(), times);
    return front;
  }

  // Writes a file that is there as a whole or not at all. One that is there already is replaced by the same bytes.
  Result<void> Write(const ChunkKey& key, std::span<const std::byte> value, SyncPolicy sync) const {
    auto sink = CreateFile(PathOf(key), sync);
    if (!sink) return Failure(sink.error());
    if (auto written = sink->Write(value); !written) return written;
    return sink->Commit(sync);
  }

  // Removes one chunk after another, and takes all memory for it when it is made: were there none left after the first
  // ones, an error would tell of a folder that has changed.
  class Remover {
   public:
    explicit Remover(const ChunkFolder& folder) : file_(folder.PathOf(ChunkKey{})) {}

    // Succeeds too where there is no such chunk.
    Result<void> Remove(const ChunkKey& key) {
      char* const name = file_.data() + file_.size() - ChunkKey::kHexDigits;
      key.WriteHex(name);
      std::copy_n(name, kSubfolderDigits, name - 1 - kSubfolderDigits);
      if (::unlink(file_.c_str()) != 0 && errno != ENOENT) return SystemFailure(file_);
      return {};
    }

   private:
    std::string file_;  // the path of any chunk: all are of one length
  };

  Result<void> Remove(const ChunkKey& key) const { return Remover(*this).Remove(key); }

  // All chunks; foreign files and unfinished ones are none.
  Result<std::vector<ChunkKey>> List() const {
    std::vector<ChunkKey> keys;
    const auto listed = ForEachSubfolder([&keys](const std::filesystem::path& subfolder) {
      return ForEachEntry(subfolder, [&](const dirent& file) {
        const auto key = ChunkKey::FromHex(file.d_name);
        if (key && IsRegularFile(subfolder, file)) keys.push_back(*key);
      });
    });
    if (!listed) return Failure(listed.error());
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

  // Removes the unfinished files of killed writers that are old. What cannot be removed stays.
  Result<void> RemoveUnfinished() const {
    return ForEachSubfolder([](const std::filesystem::path& subfolder) {
      return RemoveUnfinishedFiles(subfolder,
                                   [](std::string_view finished) { return ChunkKey::FromHex(finished).has_value(); });
    });
  }

 private:
  static constexpr size_t kSubfolderDigits = 2;
  static constexpr timespec kUnchanged = {.tv_sec = 0, .tv_nsec = UTIME_OMIT};

  static timespec AccessTime(const FileTime& time) {
    return {.tv_sec = static_cast<time_t>(time.seconds), .tv_nsec = static_cast<long>(time.nanoseconds)};
  }

  // Most file systems tell the kind along with the name.
  static bool IsRegularFile(const std::filesystem::path& folder, const dirent& entry) {
    if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_REG;
    struct stat status;
    return ::stat((folder / entry.d_name).c_str(), &status) == 0 && S_ISREG(status.st_mode);
  }

  static Failure NoChunk(const std::string& file, const std::string& why) {
    return Fail(ErrorCode::kDataLoss, file + ": expected a chunk, this is " + why);
  }

  std::string PathOf(const ChunkKey& key) const {
    const std::string hex = key.ToHex();
    return (path_ / hex.substr(0, kSubfolderDigits) / hex).string();
  }

  // Makes the folders that are missing, so that a store whose folder was cleared away goes on.
  Result<FileSink> CreateFile(const std::filesystem::path& file, SyncPolicy sync) const {
    const auto create = [&file] { return FileSink::CreateAnew(file, kPrivateFile, FileSink::Unfinished::kNamed); };
    auto sink = create();
    if (sink || sink.error().code != ErrorCode::kNotFound) return sink;
    if (auto made = MakeFolder(file.parent_path(), kPrivateFolder, sync); !made) return Failure(made.error());
    return create();
  }

  // Calls visit(path), which returns a Result<void>, for every subfolder that there may be.
  template <class Visit>
  Result<void> ForEachSubfolder(Visit visit) const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const char high : kDigits) {
      for (const char low : kDigits) {
        if (auto visited = visit(path_ / std::string{high, low}); !visited) return visited;
      }
    }
    return {};
  }

  std::filesystem::path path_;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_
