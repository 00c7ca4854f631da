// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of the C library of Windows. See skald/base/files/system_call.h.

#ifndef SKALD_BASE_FILES_DETAIL_WINDOWS_DESCRIPTOR_H_
#define SKALD_BASE_FILES_DETAIL_WINDOWS_DESCRIPTOR_H_

#include <io.h>

#include <cerrno>

#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"

namespace skald::internal {

SKALD_INLINE int CloseDescriptor(int fd) { return ::_close(fd); }

SKALD_INLINE bool IsFull(int code) { return code == ENOSPC || code == EFBIG; }

}  // namespace skald::internal

#endif  // SKALD_BASE_FILES_DETAIL_WINDOWS_DESCRIPTOR_H_
