// SPDX-License-Identifier: Apache-2.0
//
// Owners and permissions of POSIX. See skald/base/files/file_calls.h.

#ifndef SKALD_BASE_FILES_DETAIL_POSIX_ACCESS_H_
#define SKALD_BASE_FILES_DETAIL_POSIX_ACCESS_H_

#include <sys/stat.h>
#include <unistd.h>

#include "skald/base/files/detail/posix/file_calls.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE bool BelongsToUser(const std::filesystem::path&, const FileFacts& facts) {
  return facts.owner == ::geteuid();
}

SKALD_INLINE bool IsTrustedFile(int fd) {
  const auto facts = FactsOf(fd);
  if (!facts || facts->kind != FileKind::kRegular) return false;
  return (facts->owner == ::geteuid() || facts->owner == 0) && (facts->mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Linux has the same check for links that the kernel follows (proc(5), protected_symlinks).
SKALD_INLINE bool MayFollow(const std::filesystem::path& link) {
  const auto of_link = FactsOfEntry(link);
  if (!of_link) return false;
  const auto of_folder = FactsOf(link.parent_path());
  if (!of_folder) return false;
  const bool is_everybodys = (of_folder->mode & S_ISVTX) != 0 && (of_folder->mode & S_IWOTH) != 0;
  return !is_everybodys || of_link->owner == ::geteuid() || of_link->owner == of_folder->owner;
}

SKALD_INLINE bool CopyAccess(const FileFacts& from, int fd) {
  constexpr FileMode kPermissions = 0777;
  const auto now = FactsOf(fd);
  if (!now) return false;
  FileMode mode = from.mode & kPermissions;
  if (now->owner != from.owner || now->group != from.group) {
    const bool is_same_group =
        ::fchown(fd, from.owner, from.group) == 0 || ::fchown(fd, static_cast<uid_t>(-1), from.group) == 0;
    if (!is_same_group) mode &= ~FileMode{S_IRWXG};
  }
  return (now->mode & kPermissions) == mode || ::fchmod(fd, static_cast<mode_t>(mode)) == 0;
}

SKALD_INLINE void KeepPrivate(int fd) {
  const auto facts = FactsOf(fd);
  if (facts && facts->owner == ::geteuid() && (facts->mode & 0777) != kPrivateFile) (void)::fchmod(fd, kPrivateFile);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_POSIX_ACCESS_H_
