// SPDX-License-Identifier: Apache-2.0
//
// Limit of a folder of packed files (LoadOptions::cache_bytes): the least recently used ones are removed. The time of
// the record beside a file (packed_check.h) is the time of its last use.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_LIMIT_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_LIMIT_H_

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/files/folders.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/weights/packed_files/packed_check.h"

namespace skald::internal {

inline constexpr std::string_view kPackedSuffix = ".packed";

/// Whether a file has a name of the form of PackedCachePath: <name>-<hash>-<type>.packed. Other files in the folder
/// must not be removed.
inline bool IsCachedName(std::string_view name) {
  if (!name.ends_with(kPackedSuffix)) return false;
  name.remove_suffix(kPackedSuffix.size());
  const size_t type = name.rfind('-');
  if (type == name.npos) return false;
  name = name.substr(0, type);
  const size_t hash = name.find_last_not_of("0123456789abcdef");
  return hash != name.npos && name[hash] == '-' && hash + 1 < name.size();
}

/// Records that the packed file at `path` is being used. If that fails, the time of writing counts.
inline void NoteUse(const std::filesystem::path& path) {
  (void)::utimensat(AT_FDCWD, RecordPath(path).c_str(), nullptr, 0);
}

struct CachedFile {
  std::filesystem::path path;
  uint64_t bytes;
  int64_t used;  ///< nanoseconds since 1970
};

inline Result<std::vector<CachedFile>> CachedFilesIn(const std::filesystem::path& folder) {
  std::vector<CachedFile> files;
  SKALD_TRY(ForEachEntry(folder, [&](const dirent& entry) {
    struct stat file, record;
    const std::filesystem::path path = folder / entry.d_name;
    if (!IsCachedName(entry.d_name) || ::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
    const bool recorded = ::lstat(RecordPath(path).c_str(), &record) == 0;
    files.push_back({path, static_cast<uint64_t>(file.st_size), Nanoseconds(recorded ? record.st_mtim : file.st_mtim)});
  }));
  return files;
}

/// Removes files from `folder` until one of `bytes` at `path`, which may exist already, fits within `limit` beside the
/// others. Programs that have removed files mapped keep them. Errors, after which nothing was removed:
/// kResourceExhausted for a file that is larger than the limit, and a folder that cannot be read.
inline Result<void> MakeRoom(const std::filesystem::path& path, uint64_t bytes, uint64_t limit) {
  if (bytes > limit) {
    return Fail(ErrorCode::kResourceExhausted,
                Concat({path.string(), ": would take ", std::to_string(bytes), " bytes, expected at most ",
                        std::to_string(limit), " (LoadOptions::cache_bytes)"}));
  }
  SKALD_ASSIGN(auto files, CachedFilesIn(path.parent_path()));
  std::erase_if(files, [&](const CachedFile& file) { return file.path == path; });
  std::ranges::sort(files, std::ranges::greater(), &CachedFile::used);
  uint64_t room = limit - bytes;
  for (const CachedFile& file : files) {
    if (file.bytes <= room) {
      room -= file.bytes;
    } else {
      room = 0;  // all files that were used even longer ago are removed too
      ::unlink(RecordPath(file.path).c_str());
      ::unlink(file.path.c_str());
    }
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_LIMIT_H_
