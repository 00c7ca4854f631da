// SPDX-License-Identifier: Apache-2.0

#include "hub/storage/download.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "hub/storage/checksum.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/system_call.h"
#include "skald/base/text/message.h"

namespace skald::program {
namespace {

namespace fs = std::filesystem;

fs::path IncompleteOf(const HubCache& cache, const FileFacts& facts) { return cache.Blob(facts.etag + ".incomplete"); }

bool IsWhole(const HubCache& cache, const FileFacts& facts) {
  std::error_code missing;
  return fs::file_size(cache.Blob(facts.etag), missing) == facts.size && !missing;
}

// Waits until no other program receives this content. The lock ends with the returned descriptor, and with the process.
Result<internal::Descriptor> LockContent(const HubClient& client, const HubCache& cache, const HubFile& file) {
  const fs::path path = cache.Lock(file.facts.etag);
  auto lock = internal::OpenOrMake(path, 0666);
  if (lock.get() < 0) return internal::SystemFailure(path.native());
  for (bool told = false; !internal::TryLock(lock.get());) {
    if (errno != EWOULDBLOCK) return internal::SystemFailure(path.native());
    if (!told) client.events().notice("waiting for another program that downloads " + file.name);
    told = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lock;
}

// The content while it is received, with the checksum of its bytes.
class Incomplete {
 public:
  // Opens what an earlier download left, or nothing.
  static Result<Incomplete> Open(const HubCache& cache, const HubFile& file) {
    const fs::path path = IncompleteOf(cache, file.facts);
    auto fd = internal::OpenOrMake(path, 0666);
    const auto found = fd.get() < 0 ? std::nullopt : internal::FactsOf(fd.get());
    if (!found) return internal::SystemFailure(path.native());
    SKALD_TRY(internal::CheckRegular(found->kind, path.native()));
    SKALD_ASSIGN(auto sum, Checksum::Begin(file.facts.etag, file.facts.size));
    Incomplete incomplete(std::move(fd), path, file, std::move(sum));
    const uint64_t there = found->bytes;
    if (there > file.facts.size) {
      SKALD_TRY(incomplete.Restart());
    } else {
      SKALD_TRY(incomplete.ReadAgain(there));
    }
    return incomplete;
  }

  uint64_t size() const { return size_; }

  // Throws away what is there.
  Result<void> Restart() {
    if (internal::Uninterrupted([&] { return ::ftruncate(fd_.get(), 0); }) != 0 ||
        ::lseek(fd_.get(), 0, SEEK_SET) != 0) {
      return internal::SystemFailure(path_.native());
    }
    SKALD_ASSIGN(sum_, Checksum::Begin(file_.facts.etag, file_.facts.size));
    size_ = 0;
    return {};
  }

  // Errors: kDataLoss for more than there should be; those of FdStream::Write.
  Result<void> Append(std::span<const std::byte> bytes) {
    const uint64_t expected = file_.facts.size;
    if (bytes.size() > expected - size_) {
      is_spoiled_ = true;
      return Fail(ErrorCode::kDataLoss, Concat({file_.name, ": the hub sends more than the ", std::to_string(expected),
                                                " bytes that it said"}));
    }
    SKALD_TRY(FdStream(fd_.get(), path_.native()).Write(bytes));
    sum_.Update(bytes);
    size_ += bytes.size();
    return {};
  }

  // Whether all of it is there, with the right checksum. Call once.
  Result<bool> IsRight() {
    SKALD_ASSIGN(const auto digits, sum_.Digits());
    is_spoiled_ = size_ != file_.facts.size || digits != file_.facts.etag;
    return !is_spoiled_;
  }

  // Whether the bytes are of no use.
  bool is_spoiled() const { return is_spoiled_; }

  Result<void> Publish(const fs::path& blob) {
    if (!internal::Sync(fd_.get())) return internal::SystemFailure(path_.native());
    std::error_code failed;
    fs::rename(path_, blob, failed);
    if (failed) return internal::SystemFailure(blob.native(), failed.value());
    return {};
  }

  void Remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

 private:
  Incomplete(internal::Descriptor fd, fs::path path, const HubFile& file, Checksum sum)
      : fd_(std::move(fd)), path_(std::move(path)), file_(file), sum_(std::move(sum)) {}

  // Puts the first `bytes` of the file into the checksum; what follows is appended after them.
  Result<void> ReadAgain(uint64_t bytes) {
    std::vector<std::byte> buffer(size_t{1} << 20);
    while (size_ < bytes) {
      const auto part = std::span(buffer).first(std::min<uint64_t>(buffer.size(), bytes - size_));
      SKALD_TRY(FdStream(fd_.get(), path_.native()).Read(part));
      sum_.Update(part);
      size_ += part.size();
    }
    return {};
  }

  internal::Descriptor fd_;
  fs::path path_;
  HubFile file_;
  Checksum sum_;
  uint64_t size_ = 0;
  bool is_spoiled_ = false;
};

// Receives all that is missing.
Result<void> ReceiveRest(HubClient& client, const std::string& repository, const std::string& commit,
                         const HubFile& file, Incomplete& incomplete, const std::function<void(uint64_t)>& on_bytes) {
  uint64_t at = incomplete.size();
  if (at == file.facts.size && at > 0) return {};
  return client.Read(repository, commit, file.name, file.facts, at,
                     [&](const Reply&, std::span<const std::byte> bytes) -> Result<void> {
                       if (at < incomplete.size()) {
                         SKALD_TRY(incomplete.Restart());
                       }
                       SKALD_TRY(incomplete.Append(bytes));
                       at = incomplete.size();
                       on_bytes(at);
                       return {};
                     });
}

Result<void> Complete(HubClient& client, const HubCache& cache, const std::string& repository,
                      const std::string& commit, const HubFile& file, const std::function<void(uint64_t)>& on_bytes) {
  for (;;) {
    SKALD_ASSIGN(auto incomplete, Incomplete::Open(cache, file));
    const bool is_resumed = incomplete.size() > 0;
    on_bytes(incomplete.size());
    auto done = ReceiveRest(client, repository, commit, file, incomplete, on_bytes);
    if (done) {
      SKALD_ASSIGN(const bool is_right, incomplete.IsRight());
      if (is_right) {
        done = incomplete.Publish(cache.Blob(file.facts.etag));
      } else if (is_resumed) {
        client.events().notice(file.name + ": a part of it was damaged, so it is downloaded again");
        incomplete.Remove();
        continue;
      } else {
        done =
            Fail(ErrorCode::kDataLoss, file.name + ": the hub sent other bytes than its checksum says; none are kept");
      }
    }
    const bool is_full = !done && done.error().code == ErrorCode::kResourceExhausted;
    if (incomplete.is_spoiled() || is_full) incomplete.Remove();
    return done;
  }
}

}  // namespace

uint64_t BytesThere(const HubCache& cache, const FileFacts& facts) {
  if (IsWhole(cache, facts)) return facts.size;
  std::error_code missing;
  const uint64_t bytes = fs::file_size(IncompleteOf(cache, facts), missing);
  return missing ? 0 : std::min(bytes, facts.size);
}

Result<void> DownloadFile(HubClient& client, const HubCache& cache, const std::string& repository,
                          const std::string& commit, const HubFile& file,
                          const std::function<void(uint64_t)>& on_bytes) {
  if (!IsWhole(cache, file.facts)) {
    SKALD_ASSIGN(const auto lock, LockContent(client, cache, file));
    if (!IsWhole(cache, file.facts)) {
      SKALD_TRY(Complete(client, cache, repository, commit, file, on_bytes));
    }
  }
  on_bytes(file.facts.size);
  return cache.Link(commit, file.name, file.facts.etag);
}

}  // namespace skald::program
