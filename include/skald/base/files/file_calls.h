// SPDX-License-Identifier: Apache-2.0
//
// The file system's calls, for code that is the same on every system. Two folders define them: detail/posix/ and
// detail/windows/; no other header of Skald knows a system's header for files.
//
// A call that fails returns a descriptor of -1, -1, false or nothing, and leaves the reason in errno (SystemFailure).
// Calls that a signal interrupts are repeated. An empty path of a folder is the current one, as in the parent of
// "file".

#ifndef SKALD_BASE_FILES_FILE_CALLS_H_
#define SKALD_BASE_FILES_FILE_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "skald/base/files/file_facts.h"
#include "skald/base/files/system_call.h"
#include "skald/base/result.h"

namespace skald::internal {

/// Opens what should be a regular file. Never waits for a pipe's writer.
Descriptor OpenToRead(const std::filesystem::path& path);

/// Opens a file to read and write, and makes it if there is none. Refuses a link: its maker may not be this user.
Descriptor OpenOrMake(const std::filesystem::path& path, FileMode mode);

/// Makes a file to write to. Error EEXIST if the name is taken.
Descriptor MakeNew(const std::filesystem::path& path, FileMode mode);

/// Makes a file to write to that has no name yet, in the file system of `folder`. Fails if the system has none:
/// only Linux has it, on most of its file systems.
Descriptor MakeNameless(const std::filesystem::path& folder, FileMode mode);

/// Gives a file of MakeNameless a name. Error EEXIST if it is taken.
bool GiveName(int fd, const std::filesystem::path& path);

/// Reads some of what follows: 0 bytes at the end.
int64_t ReadSome(int fd, std::span<std::byte> bytes);

/// Writes some of the bytes. If the descriptor is a socket, a peer that went away is an error, not a signal.
int64_t WriteSome(int fd, std::span<const std::byte> bytes);

/// Makes the content durable against a power cut.
bool Sync(int fd);

/// Asks the system to keep none of a file's content in memory that is on the disk already: reading brings it back.
void HintLetGo(int fd);

/// The same of the names in a folder.
bool SyncNames(const std::filesystem::path& folder);

/// Returns the facts of an open file; of the file that a path leads to; of the one that has the name, be it a link.
std::optional<FileFacts> FactsOf(int fd);
std::optional<FileFacts> FactsOf(const std::filesystem::path& path);
std::optional<FileFacts> FactsOfEntry(const std::filesystem::path& path);

/// Whether the path leads to a folder. False also if the system does not tell.
inline bool IsFolder(const std::filesystem::path& path) {
  const auto facts = FactsOf(path);
  return facts && facts->kind == FileKind::kFolder;
}

/// Whether the path leads to anything. False also if the system does not tell.
inline bool Exists(const std::filesystem::path& path) { return FactsOf(path).has_value(); }

/// Refuses everything that is not a regular file: a folder, a device, a pipe, a socket.
Result<void> CheckRegular(FileKind kind, std::string_view name);

/// Sets the time of the last read, and leaves the others.
bool SetAccessTime(int fd, FileTime time);
bool SetAccessTime(const std::filesystem::path& path, FileTime time);

/// Sets the times of the last read and write to now.
bool Touch(const std::filesystem::path& path);

/// Gives a file another name in the same file system. A file of that name is replaced at once, also while programs read
/// it; Windows before version 10, and Windows on other file systems than NTFS, refuse to replace a file that is open.
bool Rename(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file's name; on some versions of Windows it stays until the file is closed. The path is in the system's
/// own characters, so that the call takes no memory.
bool RemoveName(const std::filesystem::path::value_type* path);
inline bool RemoveName(const std::filesystem::path& path) { return RemoveName(path.c_str()); }

/// Makes one folder. Error EEXIST if the name is taken.
bool MakeOneFolder(const std::filesystem::path& path, FileMode mode);

/// Takes the file's lock until the descriptor is closed. Error EWOULDBLOCK if another descriptor has it.
bool TryLock(int fd);

/// Returns whether only this user or the system's administrator can have written the open file: it is a regular file
/// that belongs to one of them, and no other user may write to it. Check this before trusting a file in a folder that
/// others may write to. Takes the descriptor, not the name, because a name may refer to another file a moment later. On
/// Windows administrators are the group of this name, the system itself counts as one of them, and a file is not
/// trusted if its access list cannot be read.
bool IsTrustedFile(int fd);

/// Whether the file at `path` belongs to this user, or on Windows to its administrators; `facts` are of it.
bool BelongsToUser(const std::filesystem::path& path, const FileFacts& facts);

/// Returns false for a link that another user put into a folder that all users may write to, like /tmp: it could lead
/// to one of this user's files. On Windows false for all links.
bool MayFollow(const std::filesystem::path& link);

/// Gives an open file the mode of another, and its owner and group if the system permits. If it does not, the group's
/// permissions are dropped: they would apply to a different group. No effect on Windows.
bool CopyAccess(const FileFacts& from, int fd);

/// Takes the permissions of all others from an open file that belongs to this user, as far as the system permits. No
/// effect on Windows.
void KeepPrivate(int fd);

/// The id of this process.
uint64_t ThisProcessId();

/// A name in a folder.
struct FolderEntry {
  std::string_view name;  ///< in UTF-8 on Windows, else as it is; until the next call of Next()
  FileKind kind = FileKind::kUnknown;
};

/// Reads the names in a folder, without "." and "..". Move-only. (The standard library's iterators report a signal as
/// an error, and end the program if memory runs out.)
class FolderReader {
 public:
  /// Opens the folder.
  explicit FolderReader(const std::filesystem::path& path);
  bool is_open() const { return state_ != nullptr; }

  /// The next entry; nothing at the end, when errno is 0, and after an error, when it is not.
  std::optional<FolderEntry> Next();

 private:
  struct Close {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Close> state_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/file_calls.h"
#endif

#endif  // SKALD_BASE_FILES_FILE_CALLS_H_
