// SPDX-License-Identifier: Apache-2.0
//
// Folders: makes them durable against a power cut, and removes files that killed writers left.

#ifndef SKALD_BASE_FILES_FOLDERS_H_
#define SKALD_BASE_FILES_FOLDERS_H_

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/file_facts.h"
#include "skald/base/files/path_text.h"
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

/// A temporary file that was not written to for so long belongs to a killed writer.
inline constexpr int64_t kStaleSeconds = 600;

namespace internal {

/// Makes a folder's list of names durable. An empty path is the current folder, as in the parent of "file".
Result<void> SyncFolder(const std::filesystem::path& path);

/// Calls visit(FolderEntry) for each entry of a folder; a missing folder has none. Errors: kFailedPrecondition.
template <class Visit>
Result<void> ForEachEntry(const std::filesystem::path& path, Visit visit) {
  FolderReader folder(path);
  if (!folder.is_open()) {
    return errno == ENOENT || errno == ENOTDIR ? Result<void>() : SystemFailure(PathText(path));
  }
  while (const auto entry = folder.Next()) visit(*entry);
  return errno == 0 ? Result<void>() : SystemFailure(PathText(path));
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
Result<void> MakeFolder(const std::filesystem::path& path, FileMode mode = kPrivateFolder,
                        SyncPolicy sync = SyncPolicy::kDataAndFolder);

/// Removes temporary files of FileSink (fd_io.h) from `folder` whose writer was killed: files of this user that were
/// not written to for kStaleSeconds, and whose target name satisfies is_ours(std::string_view). A file that cannot be
/// removed stays; a missing folder has no such files. Only needed on file systems without nameless files. Error:
/// kFailedPrecondition if the folder cannot be read.
template <class IsOurs>
Result<void> RemoveUnfinishedFiles(const std::filesystem::path& folder, IsOurs is_ours) {
  return NoThrow(PathText(folder), [&]() -> Result<void> {
    const FileTime now = FileTime::Now();
    return internal::ForEachEntry(folder, [&](const internal::FolderEntry& entry) {
      const std::string_view finished = internal::WithoutUniqueSuffix(entry.name);
      if (finished.empty() || !is_ours(finished)) return;
      const std::filesystem::path file = folder / PathOfText(entry.name);
      const auto facts = internal::FactsOfEntry(file);
      if (!facts || facts->kind != FileKind::kRegular || !internal::BelongsToUser(file, *facts)) return;
      if (facts->modified.seconds + kStaleSeconds < now.seconds) (void)internal::RemoveName(file);
    });
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/folders.h"
#endif

#endif  // SKALD_BASE_FILES_FOLDERS_H_
