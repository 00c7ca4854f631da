// SPDX-License-Identifier: Apache-2.0
//
// Folders: makes them durable against a power cut, and removes files that killed writers left.

#ifndef SKALD_BASE_FILES_FOLDERS_H_
#define SKALD_BASE_FILES_FOLDERS_H_

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "skald/base/files/system_call.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

/// Events that a written file survives. With every policy it survives the end of its writer, kill -9 included.
enum class SyncPolicy {
  kNone,           ///< a power cut may leave it empty or in part
  kData,           ///< after a power cut it is whole or, if it was written just before, missing
  kDataAndFolder,  ///< after a power cut it is whole
};

/// Permissions of files that hold conversations: for the owner alone.
inline constexpr mode_t kPrivateFile = 0600;
inline constexpr mode_t kPrivateFolder = 0700;

/// A temporary file that was not written to for so long belongs to a killed writer.
inline constexpr int64_t kStaleSeconds = 600;

namespace internal {

/// Makes a folder's list of names durable. An empty path is the current folder, as in the parent of "file".
Result<void> SyncFolder(const std::filesystem::path& path);

/// Calls visit(dirent) for each entry of a folder; a missing folder has none. Errors: kFailedPrecondition. (The
/// standard library's iterators report a signal as an error, and end the program if memory runs out.)
template <class Visit>
Result<void> ForEachEntry(const std::filesystem::path& path, Visit visit) {
  struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  std::unique_ptr<DIR, Close> folder;
  do {
    folder.reset(::opendir(path.empty() ? "." : path.c_str()));
  } while (folder == nullptr && errno == EINTR);
  if (folder == nullptr) return errno == ENOENT || errno == ENOTDIR ? Result<void>() : SystemFailure(path.native());
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) return errno == 0 ? Result<void>() : SystemFailure(path.native());
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(*entry);
  }
}

/// The end of a temporary file's name: ".<process>-<seconds>-<nanoseconds>.tmp". Rarely repeats, even across processes
/// on different machines.
std::string UniqueSuffix();

/// Returns `name` without the suffix, or an empty view if it has none.
std::string_view WithoutUniqueSuffix(std::string_view name);

}  // namespace internal

/// Makes the folder at `path` and its missing parents. An existing folder keeps its mode. With
/// SyncPolicy::kDataAndFolder the names of all new folders are durable. Errors name the folder: kFailedPrecondition if
/// the system refuses or a file has that name.
Result<void> MakeFolder(const std::filesystem::path& path, mode_t mode = kPrivateFolder,
                        SyncPolicy sync = SyncPolicy::kDataAndFolder);

/// Removes temporary files of FileSink (fd_io.h) from `folder` whose writer was killed: files of this user that were
/// not written to for kStaleSeconds, and whose target name satisfies is_ours(std::string_view). A file that cannot be
/// removed stays; a missing folder has no such files. Only needed on file systems without nameless files. Error:
/// kFailedPrecondition if the folder cannot be read.
template <class IsOurs>
Result<void> RemoveUnfinishedFiles(const std::filesystem::path& folder, IsOurs is_ours) {
  return NoThrow(folder.native(), [&]() -> Result<void> {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    return internal::ForEachEntry(folder, [&](const dirent& entry) {
      const std::string_view finished = internal::WithoutUniqueSuffix(entry.d_name);
      if (finished.empty() || !is_ours(finished)) return;
      const std::filesystem::path file = folder / entry.d_name;
      struct stat status;
      if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return;
      if (status.st_mtim.tv_sec + kStaleSeconds < now.tv_sec) ::unlink(file.c_str());
    });
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/folders.h"
#endif

#endif  // SKALD_BASE_FILES_FOLDERS_H_
