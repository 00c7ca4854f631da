// SPDX-License-Identifier: Apache-2.0
//
// ChunkFolder: one file per chunk, named by its key, in subfolders named by the key's first two digits. It finds,
// reads, writes and removes chunks; directory_store.h decides which chunks stay.

#ifndef SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_
#define SKALD_STORE_BACKENDS_CHUNK_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/file_facts.h"
#include "skald/base/files/folders.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

/// A chunk's metadata, from its folder entry; the chunk is not read.
struct StoredChunk {
  ChunkKey key;        ///< from the file's name
  uint64_t bytes = 0;  ///< length of the value
  FileTime last_used;  ///< the file's time of access
};

namespace internal {

/// Immutable, and safe to use from several threads and processes at once: files are never changed in place.
class ChunkFolder {
 public:
  explicit ChunkFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }

  /// Whether there is such a chunk. Sets the time of its last use to now, if the medium allows.
  Result<bool> MarkUsed(const ChunkKey& key) const;

  /// Reads the first `most` bytes of a chunk, or all if there are fewer. With `use`, sets the time of its last use to
  /// now, if the medium allows; else leaves it.
  Result<ChunkBytes> Read(const ChunkKey& key, bool use, uint64_t most = kMaxChunkBytes) const;

  /// The same with the chunk's length, which may be any.
  Result<ChunkFront> ReadFront(const ChunkKey& key, bool use, uint64_t most) const;

  /// Writes a file that appears whole or not at all. An existing file is replaced by the same bytes.
  Result<void> Write(const ChunkKey& key, std::span<const std::byte> value, SyncPolicy sync) const;

  /// Removes chunks one at a time. Allocates all memory at construction: if memory ran out after the first removals,
  /// the error would come from a folder that has already changed.
  class Remover {
   public:
    explicit Remover(const ChunkFolder& folder) : file_(folder.PathOf(ChunkKey{}).native()) {}

    /// Succeeds also if there is no such chunk.
    Result<void> Remove(const ChunkKey& key);

   private:
    std::filesystem::path::string_type file_;  ///< the path of any chunk: all are of one length
  };

  Result<void> Remove(const ChunkKey& key) const { return Remover(*this).Remove(key); }

  /// All chunks; other files and unfinished ones are not listed.
  Result<std::vector<ChunkKey>> List() const;

  /// The same with sizes and times.
  Result<std::vector<StoredChunk>> Chunks() const;

  /// Removes old unfinished files of killed writers. A file that cannot be removed stays.
  Result<void> RemoveUnfinished() const;

 private:
  static constexpr size_t kSubfolderDigits = 2;

  /// Most file systems return the kind together with the name.
  static bool IsRegularFile(const std::filesystem::path& folder, const FolderEntry& entry);

  static Failure NoChunk(const std::filesystem::path& file, const std::string& why);

  std::filesystem::path PathOf(const ChunkKey& key) const;

  /// Makes missing folders, so that a store continues to work after its folder was deleted.
  Result<FileSink> CreateFile(const std::filesystem::path& file, SyncPolicy sync) const;

  /// Calls visit(path), which returns a Result<void>, for every possible subfolder.
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
