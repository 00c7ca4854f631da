// SPDX-License-Identifier: Apache-2.0
//
// Facts about files: times, kind, size, permissions. The types are the same on every system.

#ifndef SKALD_BASE_FILES_FILE_FACTS_H_
#define SKALD_BASE_FILES_FILE_FACTS_H_

#include <compare>
#include <cstdint>

namespace skald {

/// A time since 1970 by the system's clock, as exactly as file systems store it.
struct FileTime {
  /// Since 1970; 0 to 999,999,999.
  int64_t seconds = 0, nanoseconds = 0;

  /// The system's clock.
  static FileTime Now();

  /// All of it in nanoseconds, for the years 1678 to 2262.
  int64_t in_nanoseconds() const { return seconds * 1'000'000'000 + nanoseconds; }

  friend auto operator<=>(const FileTime&, const FileTime&) = default;
};

/// Permission bits as POSIX has them, such as 0600. On Windows they have no effect: a new file gets the access rights
/// that its folder passes on.
using FileMode = uint32_t;

/// Permissions of files that hold conversations: for the owner alone.
inline constexpr FileMode kPrivateFile = 0600;
/// The same of folders.
inline constexpr FileMode kPrivateFolder = 0700;

/// The kind of thing that has a name in a folder.
enum class FileKind {
  kRegular,  ///< a file with content
  kFolder,   ///< names of further files
  kLink,     ///< of those calls alone that do not follow links
  kOther,    ///< a device, a pipe, a socket
  kUnknown,  ///< of a folder's entry: the file system does not tell the kind with the name
};

/// Facts about a file that the system keeps beside its content.
struct FileFacts {
  FileKind kind = FileKind::kOther;  ///< what it is
  uint64_t bytes = 0;                ///< length of the content
  /// Of the last write to the content; of the last read, as far as the file system records reads; of the last change to
  /// content, name or permissions. On POSIX systems no program can choose the last one.
  FileTime modified, accessed, changed;
  uint64_t device = 0;  ///< the file system
  uint64_t number = 0;  ///< of the file in its file system: the inode. A file that replaces another has another number
  FileMode mode = 0;    ///< permission bits, with the sticky bit; 0 on Windows
  uint32_t owner = 0;   ///< ids of user and group; 0 on Windows
  uint32_t group = 0;   ///< see owner

  /// Whether two facts are of one file with the same content, as far as its facts tell.
  bool IsSameContent(const FileFacts& other) const {
    return number == other.number && device == other.device && bytes == other.bytes && modified == other.modified;
  }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/file_facts.h"
#endif

#endif  // SKALD_BASE_FILES_FILE_FACTS_H_
