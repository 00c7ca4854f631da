// SPDX-License-Identifier: Apache-2.0
//
// Limit of a folder of packed files (LoadOptions::cache_bytes): the least recently used ones are removed. The time of
// the record beside a file (packed_check.h) is the time of its last use.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_LIMIT_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_LIMIT_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/path_text.h"
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
inline void NoteUse(const std::filesystem::path& path) { (void)Touch(RecordPath(path)); }

struct CachedFile {
  std::filesystem::path path;
  uint64_t bytes;
  FileTime used;
};

inline Result<std::vector<CachedFile>> CachedFilesIn(const std::filesystem::path& folder) {
  std::vector<CachedFile> files;
  SKALD_TRY(ForEachEntry(folder, [&](const FolderEntry& entry) {
    if (!IsCachedName(entry.name)) return;
    const std::filesystem::path path = folder / PathOfText(entry.name);
    const auto file = FactsOfEntry(path);
    if (!file || file->kind != FileKind::kRegular) return;
    const auto record = FactsOfEntry(RecordPath(path));
    files.push_back({path, file->bytes, (record ? *record : *file).modified});
  }));
  return files;
}

/// Removes files from `folder` until one of `bytes` at `path`, which may exist already, fits within `limit` beside the
/// others. Programs that have removed files mapped keep them. Errors, after which nothing was removed:
/// kResourceExhausted for a file that is larger than the limit, and a folder that cannot be read.
inline Result<void> MakeRoom(const std::filesystem::path& path, uint64_t bytes, uint64_t limit) {
  if (bytes > limit) {
    return Fail(ErrorCode::kResourceExhausted,
                Concat({PathText(path), ": would take ", std::to_string(bytes), " bytes, expected at most ",
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
      (void)RemoveName(RecordPath(file.path));
      (void)RemoveName(file.path);
    }
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_LIMIT_H_
