// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/file_calls.h that are the same on every system; detail/system.h has the others.

#ifndef SKALD_BASE_FILES_DETAIL_FILE_CALLS_H_
#define SKALD_BASE_FILES_DETAIL_FILE_CALLS_H_

#include "skald/base/files/file_calls.h"

#include "skald/base/files/detail/system.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

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
