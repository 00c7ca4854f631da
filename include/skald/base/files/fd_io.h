// SPDX-License-Identifier: Apache-2.0
//
// Sinks and sources over POSIX file descriptors: files, sockets and pipes alike.

#ifndef SKALD_BASE_FILES_FD_IO_H_
#define SKALD_BASE_FILES_FD_IO_H_

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "skald/base/files/folders.h"
#include "skald/base/files/system_call.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

namespace internal {

inline Result<void> WriteAll(int fd, std::string_view name, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemFailure(name);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

inline Result<void> ReadAll(int fd, std::string_view name, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = Uninterrupted([&] { return ::read(fd, bytes.data(), bytes.size()); });
    if (count < 0) return SystemFailure(name);
    if (count == 0) {
      return NoThrow(name, [&]() -> Result<void> {
        return Fail(ErrorCode::kDataLoss,
                    std::string(name) + ": it ends where " + std::to_string(bytes.size()) + " more bytes are expected");
      });
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace internal

// Reads from and writes to a descriptor that the caller owns and keeps open: a socket, a pipe, an open file. A peer
// that went away is an error, not a signal, where the descriptor is a socket.
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

// A regular file to be read; for pipes and devices there is FdStream. Move-only.
class FileSource {
 public:
  static Result<FileSource> Open(const std::filesystem::path& path) {
    return NoThrow(path.native(), [&]() -> Result<FileSource> {
      internal::Descriptor file = internal::OpenFile(path.c_str(), internal::kOpenToRead);
      struct stat status;
      if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return internal::SystemFailure(path.native());
      if (auto regular = internal::CheckRegular(status, path.native()); !regular) return Failure(regular.error());
      return FileSource(std::move(file), path.native());
    });
  }

  Result<void> Read(std::span<std::byte> bytes) { return internal::ReadAll(file_.get(), name_, bytes); }

 private:
  FileSource(internal::Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  internal::Descriptor file_;
  std::string name_;
};

namespace internal {

// False for a link that somebody else put into a folder like /tmp, where everybody may: it could lead to a file of
// ours. Linux itself is as careful (proc(5), protected_symlinks) where it is the one that follows.
inline bool MayFollow(const std::filesystem::path& link) {
  const std::filesystem::path folder = link.has_parent_path() ? link.parent_path() : ".";
  struct stat of_link, of_folder;
  if (::lstat(link.c_str(), &of_link) != 0 || ::stat(folder.c_str(), &of_folder) != 0) return false;
  const bool is_everybodys = (of_folder.st_mode & S_ISVTX) != 0 && (of_folder.st_mode & S_IWOTH) != 0;
  return !is_everybodys || of_link.st_uid == ::geteuid() || of_link.st_uid == of_folder.st_uid;
}

// Where writing to `path` leads: the file that a link, or a chain of them, names, whether or not there is one yet.
inline Result<std::filesystem::path> FollowLinks(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as the system's
  std::filesystem::path target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return target;  // no link
    if (!MayFollow(target)) return SystemFailure(target.native(), EACCES);
    target = target.parent_path() / next;
  }
  return SystemFailure(path.native(), ELOOP);
}

// What lies at `path`, nothing where there is nothing. Only a file can be replaced: whatever else has the name was
// meant for something else.
inline Result<std::optional<struct stat>> FileToReplace(const std::filesystem::path& path, bool may_be_link) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return SystemFailure(path.native());
  }
  if (may_be_link && S_ISLNK(status.st_mode)) return status;
  if (auto regular = CheckRegular(status, path.native()); !regular) return Failure(regular.error());
  return status;
}

// Gives an open file the mode of another, and its owner and group where we may. Where we may not, the mode's rights of
// the group would be another group's.
inline bool CopyAccess(const struct stat& from, int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) return false;
  mode_t mode = from.st_mode & 0777;
  if (now.st_uid != from.st_uid || now.st_gid != from.st_gid) {
    const bool is_same_group =
        ::fchown(fd, from.st_uid, from.st_gid) == 0 || ::fchown(fd, static_cast<uid_t>(-1), from.st_gid) == 0;
    if (!is_same_group) mode &= ~static_cast<mode_t>(S_IRWXG);
  }
  return (now.st_mode & 0777) == mode || ::fchmod(fd, mode) == 0;
}

}  // namespace internal

// A file that appears whole or not at all, when it is committed. Until then its bytes have no name and go with their
// writer, however that ends. On file systems that know no files without a name, and where the caller prefers it, they
// are a temporary file beside it, whose name goes on after that of the file; a writer that is killed leaves that for
// RemoveUnfinishedFiles. Move-only.
// Errors name the file: kInvalidArgument for a folder, a device, a pipe or a socket of that name; kNotFound where its
// folder is missing; kResourceExhausted for a full disk; kFailedPrecondition for whatever else the system refuses.
class FileSink {
 public:
  // What a file is until it is committed.
  enum class Unfinished {
    kNameless,  // nothing, where the file system can do that
    kNamed,     // a temporary file: several times as fast for small files, and the folder's owner cleans up
  };

  // A file that the user names. A link is followed, and the file that it names replaced. What is replaced hands on its
  // mode, and its owner and group where we may give them; a new file has `mode`, less what umask takes.
  static Result<FileSink> Create(const std::filesystem::path& path, mode_t mode = kPrivateFile) {
    return NoThrow(path.native(), [&]() -> Result<FileSink> {
      auto target = internal::FollowLinks(path);
      if (!target) return Failure(target.error());
      const auto replaced = internal::FileToReplace(*target, /*may_be_link=*/false);
      if (!replaced) return Failure(replaced.error());
      auto sink = Begin(std::move(*target), *replaced ? kPrivateFile : mode);
      if (sink && *replaced && !internal::CopyAccess(**replaced, sink->file_.get())) {
        return internal::SystemFailure(path.native());
      }
      return sink;
    });
  }

  // A file that a program keeps for itself, perhaps where others can put things in its way. A link is replaced, not
  // followed, and the file is new in all respects: ours, with `mode`, less what umask takes.
  static Result<FileSink> CreateAnew(const std::filesystem::path& path, mode_t mode,
                                     Unfinished unfinished = Unfinished::kNameless) {
    return NoThrow(path.native(), [&]() -> Result<FileSink> {
      if (auto replaced = internal::FileToReplace(path, /*may_be_link=*/true); !replaced) {
        return Failure(replaced.error());
      }
      return unfinished == Unfinished::kNameless ? Begin(path, mode) : BeginNamed(path, mode);
    });
  }

  FileSink(FileSink&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, "")) {}
  ~FileSink() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Result<void> Write(std::span<const std::byte> bytes) {
    return internal::WriteAll(file_.get(), path_.native(), bytes);
  }

  // To be called once. After an error the file that was there stays, unless only the folder's sync failed.
  Result<void> Commit(SyncPolicy sync = SyncPolicy::kDataAndFolder) {
    return NoThrow(path_.native(), [&]() -> Result<void> {
      const auto refused = [this] { return internal::SystemFailure(path_.native()); };
      const int fd = file_.get();
      if (sync != SyncPolicy::kNone && internal::Uninterrupted([fd] { return ::fsync(fd); }) != 0) return refused();
      if (temporary_.empty() && !GiveName()) return refused();
      if (file_.Close() != 0) return refused();
      const auto put_in_place = [this] { return ::rename(temporary_.c_str(), path_.c_str()); };
      if (internal::Uninterrupted(put_in_place) != 0) return refused();
      temporary_.clear();
      return sync == SyncPolicy::kDataAndFolder ? internal::SyncFolder(path_.parent_path()) : Result<void>();
    });
  }

 private:
  static constexpr int kMaxAttempts = 100;  // at a name that nobody has yet

  FileSink(internal::Descriptor file, std::filesystem::path path, std::string temporary)
      : file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  // The name by which the system knows an open file of this process.
  static std::string NameOfOpen(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

  static Result<FileSink> Begin(std::filesystem::path path, mode_t mode) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    internal::Descriptor nameless = internal::OpenFile(folder.c_str(), O_TMPFILE | O_WRONLY, mode);
    const bool can_be_named = nameless.get() >= 0 && ::access(NameOfOpen(nameless.get()).c_str(), F_OK) == 0;
    return can_be_named ? FileSink(std::move(nameless), std::move(path), "") : BeginNamed(std::move(path), mode);
  }

  static Result<FileSink> BeginNamed(std::filesystem::path path, mode_t mode) {
    for (int attempt = 0;; ++attempt) {
      std::string temporary = path.native() + internal::UniqueSuffix();
      internal::Descriptor file = internal::OpenFile(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
      if (file.get() >= 0) return FileSink(std::move(file), std::move(path), std::move(temporary));
      if (errno != EEXIST || attempt == kMaxAttempts) return internal::SystemFailure(path.native());
    }
  }

  // Gives a file without a name one beside that of the file that it is to be: a name cannot be taken over in one step.
  bool GiveName() {
    const std::string open_file = NameOfOpen(file_.get());
    for (int attempt = 0;; ++attempt) {
      std::string temporary = path_.native() + internal::UniqueSuffix();
      const auto link = [&] {
        return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW);
      };
      if (internal::Uninterrupted(link) == 0) {
        temporary_ = std::move(temporary);
        return true;
      }
      if (errno != EEXIST || attempt == kMaxAttempts) return false;
    }
  }

  internal::Descriptor file_;
  std::filesystem::path path_;
  std::string temporary_;  // empty while the file has no name, and once committed
};

}  // namespace skald

#endif  // SKALD_BASE_FILES_FD_IO_H_
