// SPDX-License-Identifier: Apache-2.0
//
// DirectoryStore: chunks as files of a folder, within a byte limit. The least recently used chunks are dropped first.
// Several processes may use the folder at once; a process that dies at any time leaves only whole chunks.

#ifndef SKALD_STORE_BACKENDS_DIRECTORY_STORE_H_
#define SKALD_STORE_BACKENDS_DIRECTORY_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "skald/base/files/folders.h"
#include "skald/base/files/system_call.h"
#include "skald/base/result.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/store/backends/chunk_folder.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

/// Settings of a DirectoryStore.
struct DirectoryStoreOptions {
  /// Limit of the lengths of all chunks together, without the overhead of the file system. Holds exactly for one
  /// process. Each further process that writes to the folder may exceed it by a sixteenth before it notices the others.
  uint64_t max_bytes = kUnlimited;
  /// Events that a chunk survives after its Put has returned.
  SyncPolicy sync = SyncPolicy::kData;
  /// Longest wait for another process that makes room. A process that holds the lock longer is taken to be stuck.
  std::chrono::milliseconds lock_timeout{30'000};
};

/// A number of chunks, and their bytes.
struct ChunkCount {
  /// All chunks; lengths of their values.
  uint64_t chunks = 0, bytes = 0;
};

/// A ChunkStore. Reading and writing take no lock on the folder. Removing the least recently used chunks takes an
/// advisory lock on its file "lock", and waits for it no longer than the options say. Errors name the file:
/// kFailedPrecondition if the file system refuses, kResourceExhausted also for a full disk. Chunks can be read from a
/// read-only folder. The store's files belong to its owner alone: folders of mode 0700, files of 0600.
class DirectoryStore {
 public:
  /// Unfinished files of processes that died are removed on Open when they are that old.
  static constexpr int64_t kStaleSeconds = skald::kStaleSeconds;

  /// Makes the folder if there is none.
  static Result<std::unique_ptr<DirectoryStore>> Open(const std::filesystem::path& path,
                                                      const DirectoryStoreOptions& options = {});

  /// As given to Open.
  const std::filesystem::path& path() const { return folder_.path(); }
  /// DirectoryStoreOptions::max_bytes.
  uint64_t max_bytes() const { return options_.max_bytes; }

  /// Counts as a use, because the caller relies on the answer.
  Result<bool> Has(const ChunkKey& key) const;

  /// Counts as a use.
  Result<ChunkBytes> Get(const ChunkKey& key) const;

  /// The chunk's length and its first `most` bytes. Counts as a use.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) const;

  /// The first `most` bytes of a chunk. Does not count as a use.
  Result<ChunkBytes> Peek(const ChunkKey& key, uint64_t most = kMaxChunkBytes) const;

  /// Counts as a use, whether or not the key is new. If the limit would be exceeded, first drops the least recently
  /// used chunks: as much as is needed and up to a sixteenth of the limit more, since scanning the folder takes time.
  /// Error: kResourceExhausted for a value that does not fit into the whole store beside the pinned ones.
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value);

  /// Drops a pinned chunk too.
  Result<void> Drop(const ChunkKey& key) const;

  Result<std::vector<ChunkKey>> List() const;

  /// All chunks with their sizes, in the order in which they would be dropped.
  Result<std::vector<StoredChunk>> ListByUse() const;

  /// This object does not drop a pinned key to make room; other processes do not know of the pin. May be called before
  /// the chunk exists, and several times: a key is free after as many calls of Unpin.
  Result<void> Pin(const ChunkKey& key);
  /// Undoes one Pin. Nothing happens if the key is not pinned.
  void Unpin(const ChunkKey& key);

  /// Drops the least recently used chunks until the chunks have at most `max_bytes` together, and returns what was
  /// dropped. Error: kResourceExhausted if pinned chunks have more; all others are dropped then.
  Result<ChunkCount> Prune(uint64_t max_bytes);

 private:
  // Room for a value that is being written. Released unless it is kept.
  class Reservation {
   public:
    explicit Reservation(DirectoryStore& store) : store_(store) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation();

    Result<void> Make(const ChunkKey& key, uint64_t bytes);
    void Keep() { is_kept_ = true; }

   private:
    DirectoryStore& store_;
    uint64_t bytes_ = 0;
    bool is_kept_ = false;
  };

  DirectoryStore(const std::filesystem::path& path, const DirectoryStoreOptions& options)
      : folder_(path), options_(options) {}

  // The caller holds mutex_ for all functions below.

  Result<void> MakeRoom(const ChunkKey& key, uint64_t bytes);

  /// Returns ListByUse() and stores the sum.
  Result<std::vector<StoredChunk>> Look();

  /// If the chunks have more than `most` bytes together, drops the least recently used ones until they have at most
  /// `goal`; fails if that does not even reach `most`.
  Result<ChunkCount> DropOldest(uint64_t most, uint64_t goal);

  /// Keeps two processes from both dropping what one of them needs. Any process that can open the file could hold the
  /// lock and block the others. So only its owner can open it, and waiting has a time limit.
  Result<internal::Descriptor> LockFolder() const;

  /// A process drops or adds at most this fraction of the limit, one part in so many, before it scans the folder again.
  static constexpr uint64_t kSlack = 16;

  const internal::ChunkFolder folder_;
  const DirectoryStoreOptions options_;
  std::mutex mutex_;
  std::unordered_map<ChunkKey, uint64_t> pins_;  ///< guarded by mutex_, like the members below
  std::optional<uint64_t> found_bytes_;          ///< of all chunks, at the last scan
  uint64_t added_bytes_ = 0;                     ///< since, by this object
  uint64_t unfinished_bytes_ = 0;                ///< being written by this object
};

static_assert(ChunkStore<DirectoryStore>);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/directory_store.h"
#endif

#endif  // SKALD_STORE_BACKENDS_DIRECTORY_STORE_H_
