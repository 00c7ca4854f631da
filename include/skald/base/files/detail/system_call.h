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

#ifdef _WIN32
#include "skald/base/files/detail/windows/descriptor.h"
#else
#include "skald/base/files/detail/posix/descriptor.h"
#endif

namespace skald {

namespace internal {

SKALD_INLINE Failure SystemFailure(std::string_view what, int code) {
  const ErrorCode kind = code == ENOENT ? ErrorCode::kNotFound
                         : IsFull(code) ? ErrorCode::kResourceExhausted
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

SKALD_INLINE int Descriptor::Close() { return fd_ < 0 ? 0 : CloseDescriptor(release()); }

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_SYSTEM_CALL_H_
