// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of POSIX. See skald/base/files/system_call.h.

#ifndef SKALD_BASE_FILES_DETAIL_POSIX_DESCRIPTOR_H_
#define SKALD_BASE_FILES_DETAIL_POSIX_DESCRIPTOR_H_

#include <unistd.h>

#include <cerrno>

#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"

namespace skald::internal {

SKALD_INLINE int CloseDescriptor(int fd) { return ::close(fd) == 0 || errno == EINTR ? 0 : -1; }

SKALD_INLINE bool IsFull(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

}  // namespace skald::internal

#endif  // SKALD_BASE_FILES_DETAIL_POSIX_DESCRIPTOR_H_
