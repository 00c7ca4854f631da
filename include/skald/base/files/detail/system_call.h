// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/system_call.h.

#ifndef SKALD_BASE_FILES_DETAIL_SYSTEM_CALL_H_
#define SKALD_BASE_FILES_DETAIL_SYSTEM_CALL_H_

#include "skald/base/files/system_call.h"

#include <string>
#include <system_error>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

SKALD_INLINE Failure SystemFailure(std::string_view what, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  const ErrorCode kind = code == ENOENT ? ErrorCode::kNotFound
                         : full         ? ErrorCode::kResourceExhausted
                                        : ErrorCode::kFailedPrecondition;
  auto failed = NoThrow(what, [&]() -> Result<void> {
    return Fail(kind, std::string(what).append(": ").append(std::generic_category().message(code)));
  });
  return Failure(std::move(failed.error()));
}

SKALD_INLINE Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

SKALD_INLINE Result<void> CheckRegular(const struct stat& status, std::string_view name) {
  if (S_ISREG(status.st_mode)) return {};
  return FailAbout(ErrorCode::kInvalidArgument, name,
                   S_ISDIR(status.st_mode) ? "this is a folder, expected a file" : "expected a regular file");
}

SKALD_INLINE Descriptor OpenFile(const char* path, int flags, mode_t mode) {
  return Descriptor(Uninterrupted([&] { return ::open(path, flags | O_CLOEXEC, mode); }));
}

SKALD_INLINE bool IsTrustedFile(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_SYSTEM_CALL_H_
