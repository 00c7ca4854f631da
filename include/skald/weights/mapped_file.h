// SPDX-License-Identifier: Apache-2.0
//
// A file mapped read-only into memory, so that a checkpoint is read once, in order, straight from
// the page cache. POSIX only. The file must keep its size while it is mapped: the system ends a
// process that touches pages which another program has cut off.

#ifndef SKALD_WEIGHTS_MAPPED_FILE_H_
#define SKALD_WEIGHTS_MAPPED_FILE_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "skald/base/fd_io.h"
#include "skald/base/result.h"
#include "skald/weights/message.h"

namespace skald {

// Owns the mapping. Move-only; the bytes do not move with it. Safe for concurrent reads.
class MappedFile {
 public:
  // What the bytes will be used for; tells the system which pages to keep at hand.
  enum class Use {
    kReadOnce,  // from front to back
    kKeep,      // again and again, soon all of it
  };

  // Maps the regular file at `path`. Errors name the path and the system's reason.
  static Result<MappedFile> Open(const std::filesystem::path& path, Use use = Use::kReadOnce) {
    const internal::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return FailWithErrno(path, "cannot open");
    struct stat status;
    if (::fstat(file.get(), &status) != 0) {
      return FailWithErrno(path, "cannot read the size of the file");
    }
    if (!S_ISREG(status.st_mode)) {
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({path.string(), ": expected a regular file"}));
    }
    const auto size = static_cast<uint64_t>(status.st_size);
    if (size == 0) return MappedFile(nullptr, 0);  // mmap refuses an empty range
    if (size > std::numeric_limits<size_t>::max()) {
      return Fail(ErrorCode::kUnsupported,
                  Concat({path.string(), ": larger than this machine's address space"}));
    }
    void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) return FailWithErrno(path, "cannot map the file into memory");
    // Only advice: what it answers changes nothing but speed.
    const int advice = use == Use::kKeep ? POSIX_MADV_WILLNEED : POSIX_MADV_SEQUENTIAL;
    (void)::posix_madvise(data, static_cast<size_t>(size), advice);
    return MappedFile(static_cast<const std::byte*>(data), static_cast<size_t>(size));
  }

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  static Failure FailWithErrno(const std::filesystem::path& path, const char* what) {
    const int reason = errno;
    const bool absent = reason == ENOENT || reason == ENOTDIR;
    return Fail(absent ? ErrorCode::kNotFound : ErrorCode::kFailedPrecondition,
                Concat({path.string(), ": ", what, ": ", std::generic_category().message(reason)}));
  }

  const std::byte* data_;
  size_t size_;
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_MAPPED_FILE_H_
