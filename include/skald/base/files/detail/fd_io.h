// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/fd_io.h.

#ifndef SKALD_BASE_FILES_DETAIL_FD_IO_H_
#define SKALD_BASE_FILES_DETAIL_FD_IO_H_

#include "skald/base/files/fd_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<void> WriteAll(int fd, std::string_view name, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemFailure(name);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

SKALD_INLINE Result<void> ReadAll(int fd, std::string_view name, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = Uninterrupted([&] { return ::read(fd, bytes.data(), bytes.size()); });
    if (count < 0) return SystemFailure(name);
    if (count == 0) {
      return NoThrow(name, [&]() -> Result<void> {
        return Fail(ErrorCode::kDataLoss,
                    std::string(name) + ": it ends, but " + std::to_string(bytes.size()) + " more bytes are expected");
      });
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace internal

SKALD_INLINE Result<FileSource> FileSource::Open(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<FileSource> {
    internal::Descriptor file = internal::OpenFile(path.c_str(), internal::kOpenToRead);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return internal::SystemFailure(path.native());
    SKALD_TRY(internal::CheckRegular(status, path.native()));
    return FileSource(std::move(file), path.native());
  });
}

namespace internal {

// Returns false for a link that another user put into a folder that all users may write to, like /tmp: it could lead to
// one of this user's files. Linux has the same check for links that the kernel follows (proc(5), protected_symlinks).
inline bool MayFollow(const std::filesystem::path& link) {
  const std::filesystem::path folder = link.has_parent_path() ? link.parent_path() : ".";
  struct stat of_link, of_folder;
  if (::lstat(link.c_str(), &of_link) != 0 || ::stat(folder.c_str(), &of_folder) != 0) return false;
  const bool is_everybodys = (of_folder.st_mode & S_ISVTX) != 0 && (of_folder.st_mode & S_IWOTH) != 0;
  return !is_everybodys || of_link.st_uid == ::geteuid() || of_link.st_uid == of_folder.st_uid;
}

// Returns the path that writing to `path` leads to: the file that a link, or a chain of links, names. The file need not
// exist.
inline Result<std::filesystem::path> FollowLinks(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // the system's own limit
  std::filesystem::path target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return target;  // not a link
    if (!MayFollow(target)) return SystemFailure(target.native(), EACCES);
    target = target.parent_path() / next;
  }
  return SystemFailure(path.native(), ELOOP);
}

// Reads the status of the file at `path`; empty if there is no file. Refuses everything that is not a regular file,
// because only a regular file may be replaced.
inline Result<std::optional<struct stat>> FileToReplace(const std::filesystem::path& path, bool may_be_link) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return SystemFailure(path.native());
  }
  if (may_be_link && S_ISLNK(status.st_mode)) return status;
  SKALD_TRY(CheckRegular(status, path.native()));
  return status;
}

// Gives an open file the mode of another, and its owner and group if the system permits. If it does not, the group's
// permissions are dropped: they would apply to a different group.
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

SKALD_INLINE Result<FileSink> FileSink::Create(const std::filesystem::path& path, mode_t mode) {
  return NoThrow(path.native(), [&]() -> Result<FileSink> {
    SKALD_ASSIGN(auto target, internal::FollowLinks(path));
    SKALD_ASSIGN(const auto replaced, internal::FileToReplace(target, /*may_be_link=*/false));
    auto sink = Begin(std::move(target), replaced ? kPrivateFile : mode);
    if (sink && replaced && !internal::CopyAccess(*replaced, sink->file_.get())) {
      return internal::SystemFailure(path.native());
    }
    return sink;
  });
}

SKALD_INLINE Result<FileSink> FileSink::CreateAnew(const std::filesystem::path& path, mode_t mode,
                                                   Unfinished unfinished) {
  return NoThrow(path.native(), [&]() -> Result<FileSink> {
    if (auto replaced = internal::FileToReplace(path, /*may_be_link=*/true); !replaced) {
      return Failure(replaced.error());
    }
    return unfinished == Unfinished::kNameless ? Begin(path, mode) : BeginNamed(path, mode);
  });
}

SKALD_INLINE FileSink::~FileSink() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

SKALD_INLINE Result<void> FileSink::Write(std::span<const std::byte> bytes) {
  return internal::WriteAll(file_.get(), path_.native(), bytes);
}

SKALD_INLINE Result<void> FileSink::Commit(SyncPolicy sync) {
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

SKALD_INLINE Result<FileSink> FileSink::Begin(std::filesystem::path path, mode_t mode) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  internal::Descriptor nameless = internal::OpenFile(folder.c_str(), O_TMPFILE | O_WRONLY, mode);
  const bool can_be_named = nameless.get() >= 0 && ::access(NameOfOpen(nameless.get()).c_str(), F_OK) == 0;
  return can_be_named ? FileSink(std::move(nameless), std::move(path), "") : BeginNamed(std::move(path), mode);
}

SKALD_INLINE Result<FileSink> FileSink::BeginNamed(std::filesystem::path path, mode_t mode) {
  for (int attempt = 0;; ++attempt) {
    std::string temporary = path.native() + internal::UniqueSuffix();
    internal::Descriptor file = internal::OpenFile(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
    if (file.get() >= 0) return FileSink(std::move(file), std::move(path), std::move(temporary));
    if (errno != EEXIST || attempt == kMaxAttempts) return internal::SystemFailure(path.native());
  }
}

SKALD_INLINE bool FileSink::GiveName() {
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

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_FD_IO_H_
