// SPDX-License-Identifier: Apache-2.0
//
// DirectoryStore: chunks as files of a folder, within a byte limit. What was used longest ago goes first. Several
// processes may use the folder at once; a process that dies, however and whenever, leaves only whole chunks.

#ifndef SKALD_STORE_BACKENDS_DIRECTORY_STORE_H_
#define SKALD_STORE_BACKENDS_DIRECTORY_STORE_H_

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/files/folders.h"
#include "skald/base/files/system_call.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/store/backends/chunk_folder.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

struct DirectoryStoreOptions {
  // Limit of the lengths of all chunks together; what the file system adds to them is not counted. Holds exactly for
  // one process. Each process more that writes to the folder may pass it by a sixteenth before it notices the others.
  uint64_t max_bytes = kUnlimited;
  // What a chunk survives whose Put has returned.
  SyncPolicy sync = SyncPolicy::kData;
  // The longest that another process that makes room is waited for. After it, whoever holds the lock is in trouble.
  std::chrono::milliseconds lock_timeout{30'000};
};

// Chunks, and their bytes.
struct ChunkCount {
  uint64_t chunks = 0, bytes = 0;
};

// A ChunkStore. Reading and writing take no lock on the folder; removing the least recently used ones does (an advisory
// one on its file "lock"), and waits for it no longer than the options say. Errors name the file; kFailedPrecondition
// stands for whatever the file system refuses, and kResourceExhausted for a full disk too. Of a folder that may only be
// read, chunks can be read. What the store makes is its owner's alone: folders of mode 0700, files of 0600.
class DirectoryStore {
 public:
  // Unfinished files of processes that died are removed on Open when they are that old.
  static constexpr int64_t kStaleSeconds = skald::kStaleSeconds;

  // Makes the folder if there is none.
  static Result<std::unique_ptr<DirectoryStore>> Open(const std::filesystem::path& path,
                                                      const DirectoryStoreOptions& options = {}) {
    return NoThrow(path.native(), [&]() -> Result<std::unique_ptr<DirectoryStore>> {
      if (auto made = MakeFolder(path, kPrivateFolder, options.sync); !made) return Failure(made.error());
      std::unique_ptr<DirectoryStore> store(new DirectoryStore(path, options));
      if (auto cleared = store->folder_.RemoveUnfinished(); !cleared) return Failure(cleared.error());
      return store;
    });
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  uint64_t max_bytes() const { return options_.max_bytes; }

  // Counts as a use: whoever asks relies on the answer.
  Result<bool> Has(const ChunkKey& key) const {
    return NoThrow("the directory store", [&] { return folder_.MarkUsed(key); });
  }

  // Counts as a use.
  Result<ChunkBytes> Get(const ChunkKey& key) const {
    return NoThrow("the directory store", [&] { return folder_.Read(key, /*use=*/true); });
  }

  // The chunk's length and its first `most` bytes. Counts as a use.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) const {
    return NoThrow("the directory store", [&] { return folder_.ReadFront(key, /*use=*/true, most); });
  }

  // The first `most` bytes of a chunk, without being a use.
  Result<ChunkBytes> Peek(const ChunkKey& key, uint64_t most = kMaxChunkBytes) const {
    return NoThrow("the directory store", [&] { return folder_.Read(key, /*use=*/false, most); });
  }

  // Counts as a use, whether or not the key is new. Where the limit would be passed, drops what was used longest ago
  // before it writes: as much as is lacking and up to a sixteenth of the limit more, since to look for it takes time.
  // Error: kResourceExhausted for a value that does not fit into the whole store beside the pinned ones.
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) {
    if (auto size = CheckChunkSize(key, value.size()); !size) return size;
    return NoThrow("the directory store", [&]() -> Result<void> {
      const auto is_there = folder_.MarkUsed(key);
      if (!is_there) return Failure(is_there.error());
      if (*is_there) return {};
      Reservation room(*this);
      if (auto made = room.Make(key, value.size()); !made) return made;
      auto written = folder_.Write(key, value, options_.sync);
      if (written) room.Keep();
      return written;
    });
  }

  // A pinned chunk is dropped nevertheless.
  Result<void> Drop(const ChunkKey& key) const {
    return NoThrow("the directory store", [&] { return folder_.Remove(key); });
  }

  Result<std::vector<ChunkKey>> List() const {
    return NoThrow("the directory store", [&] { return folder_.List(); });
  }

  // All chunks with their sizes, in the order in which they would be dropped.
  Result<std::vector<StoredChunk>> ListByUse() const {
    return NoThrow("the directory store", [&]() -> Result<std::vector<StoredChunk>> {
      auto chunks = folder_.Chunks();
      const auto by_use = [](const StoredChunk& chunk) { return std::pair(chunk.last_used, chunk.key); };
      if (chunks) std::ranges::sort(*chunks, {}, by_use);
      return chunks;
    });
  }

  // A pinned key is not dropped to make room, by this object; other processes do not know. May be called before there
  // is such a chunk, and several times: a key is free after as many calls of Unpin.
  Result<void> Pin(const ChunkKey& key) {
    return NoThrow("the directory store", [&]() -> Result<void> {
      const std::lock_guard lock(mutex_);
      ++pins_[key];
      return {};
    });
  }
  void Unpin(const ChunkKey& key) {
    const std::lock_guard lock(mutex_);
    if (const auto pin = pins_.find(key); pin != pins_.end() && --pin->second == 0) pins_.erase(pin);
  }

  // Drops what was used longest ago until the chunks have at most `max_bytes` together, and returns what went.
  // Error: kResourceExhausted where pinned ones have more; the others are gone then.
  Result<ChunkCount> Prune(uint64_t max_bytes) {
    return NoThrow("the directory store", [&]() -> Result<ChunkCount> {
      const std::lock_guard lock(mutex_);
      return DropOldest(max_bytes, max_bytes);
    });
  }

 private:
  // Room for a value that is being written. Given back unless it is kept.
  class Reservation {
   public:
    explicit Reservation(DirectoryStore& store) : store_(store) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() {
      const std::lock_guard lock(store_.mutex_);
      store_.unfinished_bytes_ -= bytes_;
      if (is_kept_) store_.added_bytes_ += bytes_;
    }

    Result<void> Make(const ChunkKey& key, uint64_t bytes) {
      const std::lock_guard lock(store_.mutex_);
      if (auto room = store_.MakeRoom(key, bytes); !room) return room;
      store_.unfinished_bytes_ += bytes_ = bytes;
      return {};
    }
    void Keep() { is_kept_ = true; }

   private:
    DirectoryStore& store_;
    uint64_t bytes_ = 0;
    bool is_kept_ = false;
  };

  DirectoryStore(const std::filesystem::path& path, const DirectoryStoreOptions& options)
      : folder_(path), options_(options) {}

  // The caller holds mutex_ for all that follows.

  Result<void> MakeRoom(const ChunkKey& key, uint64_t bytes) {
    const uint64_t limit = options_.max_bytes;
    if (limit == kUnlimited) return {};
    if (bytes > limit) {
      return Fail(ErrorCode::kResourceExhausted, "chunk " + key.ToHex() + " has " + std::to_string(bytes) +
                                                     " bytes, the limit of the store " + path().string() + " is " +
                                                     std::to_string(limit));
    }
    // What others added or dropped is noticed by looking, from time to time and before anything is dropped.
    if (!found_bytes_ || added_bytes_ > limit / kSlack) {
      if (const auto chunks = Look(); !chunks) return Failure(chunks.error());
    }
    if (*found_bytes_ + added_bytes_ + unfinished_bytes_ + bytes <= limit) return {};
    if (unfinished_bytes_ > limit - bytes) {
      return Fail(ErrorCode::kResourceExhausted, "the store " + path().string() + " is at its limit of " +
                                                     std::to_string(limit) + " bytes with what is being written to it");
    }
    const uint64_t most = limit - bytes - unfinished_bytes_;
    const auto dropped = DropOldest(most, most - std::min(most, limit / kSlack));
    if (!dropped) return Annotate("chunk " + key.ToHex() + " finds no room", dropped);
    return {};
  }

  // Returns ListByUse() and takes note of the sum.
  Result<std::vector<StoredChunk>> Look() {
    auto chunks = ListByUse();
    if (!chunks) return chunks;
    found_bytes_ = added_bytes_ = 0;
    for (const StoredChunk& chunk : *chunks) *found_bytes_ += chunk.bytes;
    return chunks;
  }

  // If the chunks have more than `most` bytes together, drops the least recently used ones until they have at most
  // `goal`; fails where that does not even reach `most`.
  Result<ChunkCount> DropOldest(uint64_t most, uint64_t goal) {
    const auto lock = LockFolder();
    if (!lock) return Failure(lock.error());
    internal::ChunkFolder::Remover remover(folder_);
    const auto chunks = Look();
    if (!chunks) return Failure(chunks.error());
    ChunkCount dropped;
    if (*found_bytes_ <= most) return dropped;
    Result<void> refusal;
    for (const StoredChunk& chunk : *chunks) {
      if (*found_bytes_ <= goal) return dropped;
      if (pins_.contains(chunk.key)) continue;
      if (auto removed = remover.Remove(chunk.key); !removed) {
        refusal = std::move(removed);
        continue;
      }
      *found_bytes_ -= chunk.bytes;
      dropped = {dropped.chunks + 1, dropped.bytes + chunk.bytes};
    }
    if (*found_bytes_ <= most) return dropped;
    if (!refusal) return Failure(refusal.error());
    return Fail(ErrorCode::kResourceExhausted, "pinned chunks take " + std::to_string(*found_bytes_) +
                                                   " bytes of the store " + path().string() + ", expected at most " +
                                                   std::to_string(most));
  }

  // So that two processes do not drop twice what one of them lacks. Whoever may open the file could hold the lock and
  // keep all others waiting: nobody but its owner may, and nobody is waited for without end.
  Result<internal::Descriptor> LockFolder() const {
    const std::string name = (path() / "lock").string();
    internal::Descriptor file = internal::OpenFile(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, kPrivateFile);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return internal::SystemFailure(name);
    if (status.st_uid == ::geteuid() && (status.st_mode & 0777) != kPrivateFile) {
      ::fchmod(file.get(), kPrivateFile);  // of an earlier release; where that fails, it is still bounded
    }
    const auto give_up = std::chrono::steady_clock::now() + options_.lock_timeout;
    while (internal::Uninterrupted([&file] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return internal::SystemFailure(name);
      if (std::chrono::steady_clock::now() >= give_up) {
        return Fail(ErrorCode::kFailedPrecondition, name + ": another process has held this lock for " +
                                                        std::to_string(options_.lock_timeout.count()) + " ms");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return file;
  }

  // One part of the limit in so many is what a process drops or adds without looking at the folder again.
  static constexpr uint64_t kSlack = 16;

  const internal::ChunkFolder folder_;
  const DirectoryStoreOptions options_;
  std::mutex mutex_;
  std::unordered_map<ChunkKey, uint64_t> pins_;  // guarded by mutex_, as all below
  std::optional<uint64_t> found_bytes_;          // of all chunks, when last looked
  uint64_t added_bytes_ = 0;                     // since, by this object
  uint64_t unfinished_bytes_ = 0;                // being written by this object
};

static_assert(ChunkStore<DirectoryStore>);

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DIRECTORY_STORE_H_
