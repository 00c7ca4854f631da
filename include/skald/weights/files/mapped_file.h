// SPDX-License-Identifier: Apache-2.0
//
// A file mapped read-only into memory, so that a checkpoint is read once, in order, straight from the page cache; or
// read into memory, for those who do not trust whoever else can write to it. POSIX only. A file that is mapped must
// keep its size and its bytes: the system ends a process that touches pages which another program has cut off.

#ifndef SKALD_WEIGHTS_FILES_MAPPED_FILE_H_
#define SKALD_WEIGHTS_FILES_MAPPED_FILE_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"
#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

// Owns the mapping. Move-only; the bytes do not move with it. Safe for concurrent reads.
class MappedFile {
 public:
  // What the bytes will be used for; tells the system which pages to keep at hand.
  enum class Use {
    kReadOnce,  // from front to back
    kKeep,      // again and again, soon all of it
    kParts,     // again and again, those that WillRead names
    kCopy,      // all of it, but read into memory: what happens to the file later does not matter
  };

  // Maps the regular file at `path`; never waits for whoever writes to a pipe. Errors name the path and the system's
  // reason.
  static Result<MappedFile> Open(const std::filesystem::path& path, Use use = Use::kReadOnce) {
    return NoThrow(path.native(), [&] { return OpenRegular(path, use); });
  }

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        status_(other.status_),
        is_trusted_(other.is_trusted_),
        is_copy_(other.is_copy_) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(status_, other.status_);
    std::swap(is_trusted_, other.is_trusted_);
    std::swap(is_copy_, other.is_copy_);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  // Has the system fetch these of the bytes. Only advice: what it answers changes nothing but speed.
  void WillRead(std::span<const std::byte> part) const {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t before = reinterpret_cast<uintptr_t>(part.data()) % page;
    void* const begin = const_cast<std::byte*>(part.data() - before);  // NOLINT: nothing is written
    (void)::posix_madvise(begin, before + part.size(), POSIX_MADV_WILLNEED);
  }

  // Has the system take back the pages of a mapped file that were read; they come again when they are needed. A copy
  // stays: it is nowhere else.
  void LetGo() const {
    if (!is_copy_) (void)::madvise(data_, size_, MADV_DONTNEED);
  }

  // What the system said of the file when it was opened.
  const struct stat& status() const { return status_; }

  // Whether nobody but ourselves and root could write to it then.
  bool is_trusted() const { return is_trusted_; }

 private:
  MappedFile(void* data, size_t size, const struct stat& status, bool is_trusted, bool is_copy)
      : data_(data), size_(size), status_(status), is_trusted_(is_trusted), is_copy_(is_copy) {}

  static Result<MappedFile> OpenRegular(const std::filesystem::path& path, Use use) {
    const internal::Descriptor file = internal::OpenFile(path.c_str(), internal::kOpenToRead);
    if (file.get() < 0) return FailWithErrno(path, "cannot open");
    struct stat status;
    if (::fstat(file.get(), &status) != 0) {
      return FailWithErrno(path, "cannot read the size of the file");
    }
    if (!S_ISREG(status.st_mode)) {
      return Fail(ErrorCode::kInvalidArgument, Concat({path.string(), ": expected a regular file"}));
    }
    const auto size = static_cast<uint64_t>(status.st_size);
    const bool is_trusted = internal::IsTrustedFile(file.get());
    const bool copy = use == Use::kCopy;
    if (size == 0) return MappedFile(nullptr, 0, status, is_trusted, copy);  // mmap refuses an empty range
    if (size > std::numeric_limits<size_t>::max()) {
      return Fail(ErrorCode::kUnsupported, Concat({path.string(), ": larger than this machine's address space"}));
    }
    const int flags = copy ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE;
    void* const data = ::mmap(nullptr, static_cast<size_t>(size), copy ? PROT_READ | PROT_WRITE : PROT_READ, flags,
                              copy ? -1 : file.get(), 0);
    if (data == MAP_FAILED) return FailWithErrno(path, "cannot map the file into memory");
    MappedFile map(data, static_cast<size_t>(size), status, is_trusted, copy);
    if (copy) {
      const std::span bytes(static_cast<std::byte*>(data), map.size_);
      if (auto read = FdStream(file.get(), path.string()).Read(bytes); !read) return Failure(std::move(read.error()));
      return map;
    }
    if (use == Use::kKeep) map.WillRead(map.bytes());
    if (use == Use::kReadOnce) (void)::posix_madvise(data, map.size_, POSIX_MADV_SEQUENTIAL);
    return map;
  }

  static Failure FailWithErrno(const std::filesystem::path& path, const char* what) {
    const int reason = errno;
    const ErrorCode code = reason == ENOENT || reason == ENOTDIR ? ErrorCode::kNotFound
                           : reason == ENOMEM                    ? ErrorCode::kResourceExhausted
                                                                 : ErrorCode::kFailedPrecondition;
    return Fail(code, Concat({path.string(), ": ", what, ": ", std::generic_category().message(reason)}));
  }

  void* data_;
  size_t size_;
  struct stat status_;
  bool is_trusted_;
  bool is_copy_;
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_MAPPED_FILE_H_
