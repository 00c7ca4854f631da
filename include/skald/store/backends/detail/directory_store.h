// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/directory_store.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_DIRECTORY_STORE_H_
#define SKALD_STORE_BACKENDS_DETAIL_DIRECTORY_STORE_H_

#include "skald/store/backends/directory_store.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<DirectoryStore>> DirectoryStore::Open(const std::filesystem::path& path,
                                                                          const DirectoryStoreOptions& options) {
  return NoThrow(PathText(path), [&]() -> Result<std::unique_ptr<DirectoryStore>> {
    SKALD_TRY(MakeFolder(path, kPrivateFolder, options.sync));
    std::unique_ptr<DirectoryStore> store(new DirectoryStore(path, options));
    SKALD_TRY(store->folder_.RemoveUnfinished());
    return store;
  });
}

SKALD_INLINE Result<bool> DirectoryStore::Has(const ChunkKey& key) const {
  return NoThrow("the directory store", [&] { return folder_.MarkUsed(key); });
}

SKALD_INLINE Result<ChunkBytes> DirectoryStore::Get(const ChunkKey& key) const {
  return NoThrow("the directory store", [&] { return folder_.Read(key, /*use=*/true); });
}

SKALD_INLINE Result<ChunkFront> DirectoryStore::Front(const ChunkKey& key, uint64_t most) const {
  return NoThrow("the directory store", [&] { return folder_.ReadFront(key, /*use=*/true, most); });
}

SKALD_INLINE Result<ChunkBytes> DirectoryStore::Peek(const ChunkKey& key, uint64_t most) const {
  return NoThrow("the directory store", [&] { return folder_.Read(key, /*use=*/false, most); });
}

SKALD_INLINE Result<void> DirectoryStore::Put(const ChunkKey& key, std::span<const std::byte> value) {
  SKALD_TRY(CheckChunkSize(key, value.size()));
  return NoThrow("the directory store", [&]() -> Result<void> {
    SKALD_ASSIGN(const auto is_there, folder_.MarkUsed(key));
    if (is_there) return {};
    Reservation room(*this);
    SKALD_TRY(room.Make(key, value.size()));
    auto written = folder_.Write(key, value, options_.sync);
    if (written) room.Keep();
    return written;
  });
}

SKALD_INLINE Result<void> DirectoryStore::Drop(const ChunkKey& key) const {
  return NoThrow("the directory store", [&] { return folder_.Remove(key); });
}

SKALD_INLINE Result<std::vector<ChunkKey>> DirectoryStore::List() const {
  return NoThrow("the directory store", [&] { return folder_.List(); });
}

SKALD_INLINE Result<std::vector<StoredChunk>> DirectoryStore::ListByUse() const {
  return NoThrow("the directory store", [&]() -> Result<std::vector<StoredChunk>> {
    auto chunks = folder_.Chunks();
    const auto by_use = [](const StoredChunk& chunk) { return std::pair(chunk.last_used, chunk.key); };
    if (chunks) std::ranges::sort(*chunks, {}, by_use);
    return chunks;
  });
}

SKALD_INLINE Result<void> DirectoryStore::Pin(const ChunkKey& key) {
  return NoThrow("the directory store", [&]() -> Result<void> {
    const std::lock_guard lock(mutex_);
    ++pins_[key];
    return {};
  });
}

SKALD_INLINE void DirectoryStore::Unpin(const ChunkKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto pin = pins_.find(key); pin != pins_.end() && --pin->second == 0) pins_.erase(pin);
}

SKALD_INLINE Result<ChunkCount> DirectoryStore::Prune(uint64_t max_bytes) {
  return NoThrow("the directory store", [&]() -> Result<ChunkCount> {
    const std::lock_guard lock(mutex_);
    return DropOldest(max_bytes, max_bytes);
  });
}

SKALD_INLINE DirectoryStore::Reservation::~Reservation() {
  const std::lock_guard lock(store_.mutex_);
  store_.unfinished_bytes_ -= bytes_;
  if (is_kept_) store_.added_bytes_ += bytes_;
}

SKALD_INLINE Result<void> DirectoryStore::Reservation::Make(const ChunkKey& key, uint64_t bytes) {
  const std::lock_guard lock(store_.mutex_);
  SKALD_TRY(store_.MakeRoom(key, bytes));
  store_.unfinished_bytes_ += bytes_ = bytes;
  return {};
}

SKALD_INLINE Result<void> DirectoryStore::MakeRoom(const ChunkKey& key, uint64_t bytes) {
  const uint64_t limit = options_.max_bytes;
  if (limit == kUnlimited) return {};
  if (bytes > limit) {
    return Fail(ErrorCode::kResourceExhausted, "chunk " + key.ToHex() + " has " + std::to_string(bytes) +
                                                   " bytes, the limit of the store " + PathText(path()) + " is " +
                                                   std::to_string(limit));
  }
  // Scans the folder from time to time, and before anything is dropped, to notice changes by other processes.
  if (!found_bytes_ || added_bytes_ > limit / kSlack) {
    SKALD_TRY(Look());
  }
  if (*found_bytes_ + added_bytes_ + unfinished_bytes_ + bytes <= limit) return {};
  if (unfinished_bytes_ > limit - bytes) {
    return Fail(ErrorCode::kResourceExhausted, "the store " + PathText(path()) + " is at its limit of " +
                                                   std::to_string(limit) + " bytes with what is being written to it");
  }
  const uint64_t most = limit - bytes - unfinished_bytes_;
  const auto dropped = DropOldest(most, most - std::min(most, limit / kSlack));
  if (!dropped) return Annotate("chunk " + key.ToHex() + " does not fit", dropped);
  return {};
}

SKALD_INLINE Result<std::vector<StoredChunk>> DirectoryStore::Look() {
  SKALD_ASSIGN(auto chunks, ListByUse());
  found_bytes_ = added_bytes_ = 0;
  for (const StoredChunk& chunk : chunks) *found_bytes_ += chunk.bytes;
  return chunks;
}

SKALD_INLINE Result<ChunkCount> DirectoryStore::DropOldest(uint64_t most, uint64_t goal) {
  SKALD_ASSIGN(const auto lock, LockFolder());
  internal::ChunkFolder::Remover remover(folder_);
  SKALD_ASSIGN(const auto chunks, Look());
  ChunkCount dropped;
  if (*found_bytes_ <= most) return dropped;
  Result<void> refusal;
  for (const StoredChunk& chunk : chunks) {
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
                                                 " bytes of the store " + PathText(path()) + ", expected at most " +
                                                 std::to_string(most));
}

SKALD_INLINE Result<internal::Descriptor> DirectoryStore::LockFolder() const {
  const std::filesystem::path lock = path() / "lock";
  const auto& name = PathText(lock);
  internal::Descriptor file = internal::OpenOrMake(lock, kPrivateFile);
  if (file.get() < 0) return internal::SystemFailure(name);
  internal::KeepPrivate(file.get());  // written by an earlier release; if this fails, waiting is still bounded
  const auto give_up = std::chrono::steady_clock::now() + options_.lock_timeout;
  while (!internal::TryLock(file.get())) {
    if (errno != EWOULDBLOCK) return internal::SystemFailure(name);
    if (std::chrono::steady_clock::now() >= give_up) {
      return Fail(ErrorCode::kFailedPrecondition, name + ": another process has held this lock for " +
                                                      std::to_string(options_.lock_timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return file;
}

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_DIRECTORY_STORE_H_
