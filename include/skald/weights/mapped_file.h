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

#include "skald/base/result.h"
#include "skald/weights/message.h"

namespace skald {

// Owns the mapping. Move-only; the bytes do not move with it. Safe for concurrent reads.
class MappedFile {
 public:
  // Maps the regular file at `path`. Errors name the path and the system's reason.
  static Result<MappedFile> Open(const std::filesystem::path& path) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.value < 0) return FailWithErrno(path, "cannot open");
    struct stat status;
    if (::fstat(file.value, &status) != 0) {
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
    void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, file.value, 0);
    if (data == MAP_FAILED) return FailWithErrno(path, "cannot map the file into memory");
    // Only advice: what it answers changes nothing but speed.
    (void)::posix_madvise(data, static_cast<size_t>(size), POSIX_MADV_SEQUENTIAL);
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
  struct Descriptor {
    int value;
    ~Descriptor() {
      if (value >= 0) ::close(value);
    }
  };

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
