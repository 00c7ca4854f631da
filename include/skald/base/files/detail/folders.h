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
  const Descriptor folder = OpenFile(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY);
  if (folder.get() < 0 || Uninterrupted([&] { return ::fsync(folder.get()); }) != 0)
    return SystemFailure(path.native());
  return {};
}

inline Result<bool> IsFolder(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.empty() ? "." : path.c_str(), &status) == 0) return S_ISDIR(status.st_mode);
  if (errno != ENOENT) return SystemFailure(path.native());
  return false;
}

inline Result<void> MakeFolders(const std::filesystem::path& path, mode_t mode, SyncPolicy sync) {
  auto there = IsFolder(path);
  if (!there) return Failure(there.error());
  if (*there) return {};
  const std::filesystem::path parent = path.parent_path();
  if (parent != path) {
    SKALD_TRY(MakeFolders(parent, mode, sync));
  }
  if (Uninterrupted([&] { return ::mkdir(path.c_str(), mode); }) != 0) {
    if (errno != EEXIST) return SystemFailure(path.native());
    there = IsFolder(path);  // another process made it just now, or the name ends in a slash
    if (!there) return Failure(there.error());
    return *there ? Result<void>() : SystemFailure(path.native(), ENOTDIR);
  }
  return sync == SyncPolicy::kDataAndFolder ? SyncFolder(parent) : Result<void>();
}

SKALD_INLINE std::string UniqueSuffix() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return "." + std::to_string(::getpid()) + "-" + std::to_string(now.tv_sec) + "-" + std::to_string(now.tv_nsec) +
         ".tmp";
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

SKALD_INLINE Result<void> MakeFolder(const std::filesystem::path& path, mode_t mode, SyncPolicy sync) {
  return NoThrow(path.native(), [&] { return internal::MakeFolders(path, mode, sync); });
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_FOLDERS_H_
