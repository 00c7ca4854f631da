// SPDX-License-Identifier: Apache-2.0
//
// Folders by the calls of POSIX. See skald/base/files/file_calls.h.

#ifndef SKALD_BASE_FILES_DETAIL_POSIX_FOLDER_CALLS_H_
#define SKALD_BASE_FILES_DETAIL_POSIX_FOLDER_CALLS_H_

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "skald/base/files/detail/posix/file_calls.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE bool SyncNames(const std::filesystem::path& folder) {
  const Descriptor file = OpenFile(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  return file.get() >= 0 && Sync(file.get());
}

SKALD_INLINE bool MakeOneFolder(const std::filesystem::path& path, FileMode mode) {
  return Uninterrupted([&] { return ::mkdir(path.c_str(), static_cast<mode_t>(mode)); }) == 0;
}

SKALD_INLINE FolderReader::FolderReader(const std::filesystem::path& path) {
  do {
    state_.reset(::opendir(path.empty() ? "." : path.c_str()));
  } while (state_ == nullptr && errno == EINTR);
}

SKALD_INLINE void FolderReader::Close::operator()(void* state) const { ::closedir(static_cast<DIR*>(state)); }

SKALD_INLINE std::optional<FolderEntry> FolderReader::Next() {
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(static_cast<DIR*>(state_.get()));
    if (entry == nullptr) return std::nullopt;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    switch (entry->d_type) {
      case DT_REG:
        return FolderEntry{name, FileKind::kRegular};
      case DT_DIR:
        return FolderEntry{name, FileKind::kFolder};
      case DT_LNK:
        return FolderEntry{name, FileKind::kLink};
      case DT_UNKNOWN:
        return FolderEntry{name, FileKind::kUnknown};
      default:
        return FolderEntry{name, FileKind::kOther};
    }
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_POSIX_FOLDER_CALLS_H_
