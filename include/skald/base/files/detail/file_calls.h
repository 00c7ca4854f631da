// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/file_calls.h that are the same on every system; the others are in a folder of each
// system.

#ifndef SKALD_BASE_FILES_DETAIL_FILE_CALLS_H_
#define SKALD_BASE_FILES_DETAIL_FILE_CALLS_H_

#include "skald/base/files/file_calls.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

#ifdef _WIN32
#include "skald/base/files/detail/windows/access.h"
#include "skald/base/files/detail/windows/file_calls.h"
#include "skald/base/files/detail/windows/folder_calls.h"
#else
#include "skald/base/files/detail/posix/access.h"
#include "skald/base/files/detail/posix/file_calls.h"
#include "skald/base/files/detail/posix/folder_calls.h"
#endif

namespace skald {

namespace internal {

SKALD_INLINE Result<void> CheckRegular(FileKind kind, std::string_view name) {
  if (kind == FileKind::kRegular) return {};
  return FailAbout(ErrorCode::kInvalidArgument, name,
                   kind == FileKind::kFolder ? "this is a folder, expected a file" : "expected a regular file");
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_FILE_CALLS_H_
