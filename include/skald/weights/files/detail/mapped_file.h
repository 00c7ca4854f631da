// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/mapped_file.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_MAPPED_FILE_H_
#define SKALD_WEIGHTS_FILES_DETAIL_MAPPED_FILE_H_

#include "skald/weights/files/mapped_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {

SKALD_INLINE Result<MappedFile> MappedFile::Open(const std::filesystem::path& path, Use use) {
  return NoThrow(path.native(), [&] { return OpenRegular(path, use); });
}

SKALD_INLINE MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      status_(other.status_),
      is_trusted_(other.is_trusted_),
      is_copy_(other.is_copy_) {}

SKALD_INLINE MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(status_, other.status_);
  std::swap(is_trusted_, other.is_trusted_);
  std::swap(is_copy_, other.is_copy_);
  return *this;
}

SKALD_INLINE MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

SKALD_INLINE void MappedFile::WillRead(std::span<const std::byte> part) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(part.data()) % page;
  void* const begin = const_cast<std::byte*>(part.data() - before);  // NOLINT: nothing is written
  (void)::posix_madvise(begin, before + part.size(), POSIX_MADV_WILLNEED);
}

SKALD_INLINE void MappedFile::WillReadOnce() const { (void)::posix_madvise(data_, size_, POSIX_MADV_SEQUENTIAL); }

SKALD_INLINE void MappedFile::LetGo() const {
  if (!is_copy_) (void)::madvise(data_, size_, MADV_DONTNEED);
}

SKALD_INLINE Result<MappedFile> MappedFile::OpenRegular(const std::filesystem::path& path, Use use) {
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
    SKALD_TRY(FdStream(file.get(), path.string()).Read(bytes));
    return map;
  }
  if (use == Use::kKeep) map.WillRead(map.bytes());
  if (use == Use::kReadOnce) map.WillReadOnce();
  return map;
}

SKALD_INLINE Failure MappedFile::FailWithErrno(const std::filesystem::path& path, const char* what) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT || reason == ENOTDIR ? ErrorCode::kNotFound
                         : reason == ENOMEM                    ? ErrorCode::kResourceExhausted
                                                               : ErrorCode::kFailedPrecondition;
  return Fail(code, Concat({path.string(), ": ", what, ": ", std::generic_category().message(reason)}));
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_MAPPED_FILE_H_
