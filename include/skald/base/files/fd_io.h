// SPDX-License-Identifier: Apache-2.0
//
// Sinks and sources over file descriptors: files and pipes alike, and on POSIX systems sockets.

#ifndef SKALD_BASE_FILES_FD_IO_H_
#define SKALD_BASE_FILES_FD_IO_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/files/file_facts.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/system_call.h"
#include "skald/base/result.h"

namespace skald {

namespace internal {

Result<void> WriteAll(int fd, std::string_view name, std::span<const std::byte> bytes);

Result<void> ReadAll(int fd, std::string_view name, std::span<std::byte> bytes);

}  // namespace internal

/// Reads from and writes to a descriptor that the caller owns and keeps open: a socket, a pipe, an open file. If the
/// descriptor is a socket, a peer that went away is an error, not a signal. On Windows it is a descriptor of the C
/// library, in binary mode, which a socket has not.
class FdStream {
 public:
  /// Errors contain `name`.
  FdStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  /// Writes all of `bytes`. Errors: kResourceExhausted if the disk is full, else kFailedPrecondition.
  Result<void> Write(std::span<const std::byte> bytes) { return internal::WriteAll(fd_, name_, bytes); }
  /// Reads all of `bytes`. Errors: kDataLoss if the stream ends before, kFailedPrecondition.
  Result<void> Read(std::span<std::byte> bytes) { return internal::ReadAll(fd_, name_, bytes); }

 private:
  int fd_;
  std::string name_;
};

/// A regular file to be read; for pipes and devices use FdStream. Move-only.
class FileSource {
 public:
  /// Opens a file. Errors: kNotFound; kInvalidArgument if it is not a regular file; kFailedPrecondition.
  static Result<FileSource> Open(const std::filesystem::path& path);

  /// Reads all of `bytes`, from where the last call ended. Errors as FdStream::Read.
  Result<void> Read(std::span<std::byte> bytes) { return internal::ReadAll(file_.get(), name_, bytes); }

 private:
  FileSource(internal::Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  internal::Descriptor file_;
  std::string name_;
};

/// A file that appears whole or not at all, when it is committed. Until then its bytes have no name, and they vanish
/// with their writer, even if it is killed. If the file system does not support files without a name, or if the
/// caller prefers it, the bytes are in a temporary file in the same folder, whose name begins with that of the file.
/// If its writer is killed, RemoveUnfinishedFiles removes it. Move-only.
/// Errors name the file: kInvalidArgument if a folder, a device, a pipe or a socket has that name; kNotFound if its
/// folder is missing; kResourceExhausted if the disk is full; kFailedPrecondition for other errors of the system.
class FileSink {
 public:
  /// The state of a file until it is committed.
  enum class Unfinished {
    kNameless,  ///< no directory entry, if the file system supports that
    kNamed,     ///< a temporary file: several times as fast for small files; the folder's owner removes leftovers
  };

  /// Creates a file that the user names. A link is followed, and the file that it names is replaced; on Windows a link
  /// is refused. The new file gets the mode of the file that it replaces, and its owner and group if the system
  /// permits. If there was no file, it has `mode`, less umask.
  static Result<FileSink> Create(const std::filesystem::path& path, FileMode mode = kPrivateFile);

  /// Creates a file for the program's own use, possibly in a folder that others may write to. A link is replaced, not
  /// followed. The file is new in all respects: it belongs to this user and has `mode`, less umask.
  static Result<FileSink> CreateAnew(const std::filesystem::path& path, FileMode mode,
                                     Unfinished unfinished = Unfinished::kNameless);

  FileSink(FileSink&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}
  ~FileSink();

  /// Appends all of `bytes`.
  Result<void> Write(std::span<const std::byte> bytes);

  /// The part of a committed file that stays in the system's memory.
  enum class Cached {
    kWritten,  ///< what was written: reading it is fast
    kNothing,  ///< nothing, if it was synced: a later mapping has pages as large as the system reads ahead
  };

  /// Publishes the file. May be called once. After an error the previous file is unchanged, unless only the folder's
  /// sync failed.
  Result<void> Commit(SyncPolicy sync = SyncPolicy::kDataAndFolder, Cached cached = Cached::kWritten);

 private:
  static constexpr int kMaxAttempts = 100;  ///< at finding a name that is not taken

  FileSink(internal::Descriptor file, std::filesystem::path path, std::filesystem::path temporary)
      : file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  static Result<FileSink> Begin(std::filesystem::path path, FileMode mode);

  static Result<FileSink> BeginNamed(std::filesystem::path path, FileMode mode);

  /// Links a file without a name under a temporary name beside its target: linking cannot replace an existing file.
  bool GiveName();

  internal::Descriptor file_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty while the file has no name, and after the commit
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/fd_io.h"
#endif

#endif  // SKALD_BASE_FILES_FD_IO_H_
