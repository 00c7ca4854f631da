// SPDX-License-Identifier: Apache-2.0
//
// ChunkFolder: one file per chunk, named by its key, in subfolders named by the key's first two digits. Which chunks
// stay and which go is directory_store.h's business; here they are found, read, written and removed.

#ifndef SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_
#define SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_

#include <dirent.h>
#include <sys/stat.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/folders.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

/// A moment, as exactly as file systems keep it: since 1970, by the system's clock.
struct FileTime {
  int64_t seconds = 0, nanoseconds = 0;

  static FileTime Now();
  static FileTime Of(const timespec& time) { return {time.tv_sec, time.tv_nsec}; }

  friend auto operator<=>(const FileTime&, const FileTime&) = default;
};

/// What a folder says of a chunk without its being read.
struct StoredChunk {
  ChunkKey key;
  uint64_t bytes = 0;
  FileTime last_used;
};

namespace internal {

/// Immutable, and safe to use from several threads and processes at once: nothing is ever changed in place.
class ChunkFolder {
 public:
  explicit ChunkFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }

  /// Whether there is such a chunk; notes that it was used now, where the medium allows.
  Result<bool> MarkUsed(const ChunkKey& key) const;

  /// Reads the first `most` bytes of a chunk, or all where there are fewer. Leaves the time of its last use as it is
  /// or, with `use`, sets it to now, where the medium allows.
  Result<ChunkBytes> Read(const ChunkKey& key, bool use, uint64_t most = kMaxChunkBytes) const;

  /// The same with the chunk's length, whatever that is.
  Result<ChunkFront> ReadFront(const ChunkKey& key, bool use, uint64_t most) const;

  /// Writes a file that is there as a whole or not at all. One that is there already is replaced by the same bytes.
  Result<void> Write(const ChunkKey& key, std::span<const std::byte> value, SyncPolicy sync) const;

  /// Removes one chunk after another, and takes all memory for it when it is made: were there none left after the first
  /// ones, an error would tell of a folder that has changed.
  class Remover {
   public:
    explicit Remover(const ChunkFolder& folder) : file_(folder.PathOf(ChunkKey{})) {}

    /// Succeeds too where there is no such chunk.
    Result<void> Remove(const ChunkKey& key);

   private:
    std::string file_;  ///< the path of any chunk: all are of one length
  };

  Result<void> Remove(const ChunkKey& key) const { return Remover(*this).Remove(key); }

  /// All chunks; foreign files and unfinished ones are none.
  Result<std::vector<ChunkKey>> List() const;

  /// The same with sizes and times.
  Result<std::vector<StoredChunk>> Chunks() const;

  /// Removes the unfinished files of killed writers that are old. What cannot be removed stays.
  Result<void> RemoveUnfinished() const;

 private:
  static constexpr size_t kSubfolderDigits = 2;
  static constexpr timespec kUnchanged = {.tv_sec = 0, .tv_nsec = UTIME_OMIT};

  static timespec AccessTime(const FileTime& time);

  /// Most file systems tell the kind along with the name.
  static bool IsRegularFile(const std::filesystem::path& folder, const dirent& entry);

  static Failure NoChunk(const std::string& file, const std::string& why);

  std::string PathOf(const ChunkKey& key) const;

  /// Makes the folders that are missing, so that a store whose folder was cleared away goes on.
  Result<FileSink> CreateFile(const std::filesystem::path& file, SyncPolicy sync) const;

  /// Calls visit(path), which returns a Result<void>, for every subfolder that there may be.
  template <class Visit>
  Result<void> ForEachSubfolder(Visit visit) const;

  std::filesystem::path path_;
};

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/chunk_folder.h"
#endif

#endif  // SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_
