// SPDX-License-Identifier: Apache-2.0
//
// Folders: making them so that a power cut does not take them back, and clearing away what killed writers left in them.

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

/// What a file that was written survives. In all cases it outlives its writer, kill -9 included.
enum class SyncPolicy {
  kNone,           ///< a power cut may leave it empty or in part
  kData,           ///< a power cut leaves it whole or, where it was written just before, not at all
  kDataAndFolder,  ///< a power cut leaves it whole
};

/// Permissions of what holds somebody's conversations: the owner's alone.
inline constexpr mode_t kPrivateFile = 0600;
inline constexpr mode_t kPrivateFolder = 0700;

/// Files of killed writers are nobody's when they were not written to for so long.
inline constexpr int64_t kStaleSeconds = 600;

namespace internal {

/// Makes a folder's list of names durable. An empty path is the current folder, as in the parent of "file".
Result<void> SyncFolder(const std::filesystem::path& path);

/// Calls visit(dirent) for whatever is in a folder, nothing where there is none. Errors: kFailedPrecondition. (The
/// standard library's iterators report a signal as an error, and end the program where they find no memory.)
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

/// The end of a temporary file's name: ".<process>-<seconds>-<nanoseconds>.tmp". Rarely the same twice, even in
/// processes that do not know of each other.
std::string UniqueSuffix();

/// Returns `name` without such an end, or nothing where it has none.
std::string_view WithoutUniqueSuffix(std::string_view name);

}  // namespace internal

/// Makes the folder at `path`, and those above it that are missing, unless it is there; an existing one keeps its mode.
/// With SyncPolicy::kDataAndFolder the names of all that were made are durable. Errors name the folder:
/// kFailedPrecondition for whatever the system refuses or a file in the way.
Result<void> MakeFolder(const std::filesystem::path& path, mode_t mode = kPrivateFolder,
                        SyncPolicy sync = SyncPolicy::kDataAndFolder);

/// Removes temporary files of FileSink (fd_io.h) from `folder` whose writer was killed: those of ours that nobody has
/// written to for kStaleSeconds, and that were to become a file of whose name is_ours(std::string_view) says so. What
/// cannot be removed stays; a folder that is missing has none. For file systems on which a file cannot be without a
/// name; on others nothing is left to remove. Error: kFailedPrecondition for a folder that cannot be read.
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
