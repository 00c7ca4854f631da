// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/folders.h.

#ifndef SKALD_BASE_FILES_DETAIL_FOLDERS_H_
#define SKALD_BASE_FILES_DETAIL_FOLDERS_H_

#include "skald/base/files/folders.h"

#include <cstddef>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<void> SyncFolder(const std::filesystem::path& path) {
  return SyncNames(path) ? Result<void>() : SystemFailure(PathText(path));
}

inline Result<bool> HasFolder(const std::filesystem::path& path) {
  if (const auto facts = FactsOf(path)) return facts->kind == FileKind::kFolder;
  if (errno != ENOENT) return SystemFailure(PathText(path));
  return false;
}

inline Result<void> MakeFolders(const std::filesystem::path& path, FileMode mode, SyncPolicy sync) {
  auto there = HasFolder(path);
  if (!there) return Failure(there.error());
  if (*there) return {};
  const std::filesystem::path parent = path.parent_path();
  if (parent != path) {
    SKALD_TRY(MakeFolders(parent, mode, sync));
  }
  if (!MakeOneFolder(path, mode)) {
    if (errno != EEXIST) return SystemFailure(PathText(path));
    there = HasFolder(path);  // another process made it just now, or the name ends in a slash
    if (!there) return Failure(there.error());
    return *there ? Result<void>() : SystemFailure(PathText(path), ENOTDIR);
  }
  return sync == SyncPolicy::kDataAndFolder ? SyncFolder(parent) : Result<void>();
}

SKALD_INLINE std::string UniqueSuffix() {
  const FileTime now = FileTime::Now();
  return "." + std::to_string(ThisProcessId()) + "-" + std::to_string(now.seconds) + "-" +
         std::to_string(now.nanoseconds) + ".tmp";
}

SKALD_INLINE std::string_view WithoutUniqueSuffix(std::string_view name) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.ends_with(kEnd)) return {};
  name.remove_suffix(kEnd.size());
  for (const char before : {'-', '-', '.'}) {
    const size_t number = name.find_last_not_of("0123456789");
    if (number == name.npos || number + 1 == name.size() || name[number] != before) return {};
    name = name.substr(0, number);
  }
  return name;
}

}  // namespace internal

SKALD_INLINE Result<void> MakeFolder(const std::filesystem::path& path, FileMode mode, SyncPolicy sync) {
  return NoThrow(PathText(path), [&] { return internal::MakeFolders(path, mode, sync); });
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_FOLDERS_H_
