// SPDX-License-Identifier: Apache-2.0
//
// Sinks and sources over POSIX file descriptors: files, sockets and pipes alike.

#ifndef SKALD_BASE_FILES_FD_IO_H_
#define SKALD_BASE_FILES_FD_IO_H_

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/files/folders.h"
#include "skald/base/files/system_call.h"
#include "skald/base/result.h"

namespace skald {

namespace internal {

Result<void> WriteAll(int fd, std::string_view name, std::span<const std::byte> bytes);

Result<void> ReadAll(int fd, std::string_view name, std::span<std::byte> bytes);

}  // namespace internal

/// Reads from and writes to a descriptor that the caller owns and keeps open: a socket, a pipe, an open file. A peer
/// that went away is an error, not a signal, where the descriptor is a socket.
class FdStream {
 public:
  // `name` stands in errors.
  FdStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  Result<void> Write(std::span<const std::byte> bytes) { return internal::WriteAll(fd_, name_, bytes); }
  Result<void> Read(std::span<std::byte> bytes) { return internal::ReadAll(fd_, name_, bytes); }

 private:
  int fd_;
  std::string name_;
};

/// A regular file to be read; for pipes and devices there is FdStream. Move-only.
class FileSource {
 public:
  static Result<FileSource> Open(const std::filesystem::path& path);

  Result<void> Read(std::span<std::byte> bytes) { return internal::ReadAll(file_.get(), name_, bytes); }

 private:
  FileSource(internal::Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  internal::Descriptor file_;
  std::string name_;
};

/// A file that appears whole or not at all, when it is committed. Until then its bytes have no name and go with their
/// writer, however that ends. On file systems that know no files without a name, and where the caller prefers it, they
/// are a temporary file beside it, whose name goes on after that of the file; a writer that is killed leaves that for
/// RemoveUnfinishedFiles. Move-only.
/// Errors name the file: kInvalidArgument for a folder, a device, a pipe or a socket of that name; kNotFound where its
/// folder is missing; kResourceExhausted for a full disk; kFailedPrecondition for whatever else the system refuses.
class FileSink {
 public:
  // What a file is until it is committed.
  enum class Unfinished {
    kNameless,  ///< nothing, where the file system can do that
    kNamed,     ///< a temporary file: several times as fast for small files, and the folder's owner cleans up
  };

  /// A file that the user names. A link is followed, and the file that it names replaced. What is replaced hands on its
  /// mode, and its owner and group where we may give them; a new file has `mode`, less what umask takes.
  static Result<FileSink> Create(const std::filesystem::path& path, mode_t mode = kPrivateFile);

  /// A file that a program keeps for itself, perhaps where others can put things in its way. A link is replaced, not
  /// followed, and the file is new in all respects: ours, with `mode`, less what umask takes.
  static Result<FileSink> CreateAnew(const std::filesystem::path& path, mode_t mode,
                                     Unfinished unfinished = Unfinished::kNameless);

  FileSink(FileSink&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, "")) {}
  ~FileSink();

  Result<void> Write(std::span<const std::byte> bytes);

  /// To be called once. After an error the file that was there stays, unless only the folder's sync failed.
  Result<void> Commit(SyncPolicy sync = SyncPolicy::kDataAndFolder);

 private:
  static constexpr int kMaxAttempts = 100;  ///< at a name that nobody has yet

  FileSink(internal::Descriptor file, std::filesystem::path path, std::string temporary)
      : file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  /// The name by which the system knows an open file of this process.
  static std::string NameOfOpen(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

  static Result<FileSink> Begin(std::filesystem::path path, mode_t mode);

  static Result<FileSink> BeginNamed(std::filesystem::path path, mode_t mode);

  /// Gives a file without a name one beside that of the file that it is to be: a name cannot be taken over in one step.
  bool GiveName();

  internal::Descriptor file_;
  std::filesystem::path path_;
  std::string temporary_;  ///< empty while the file has no name, and once committed
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/fd_io.h"
#endif

#endif  // SKALD_BASE_FILES_FD_IO_H_
