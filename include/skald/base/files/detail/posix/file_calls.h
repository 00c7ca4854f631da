// SPDX-License-Identifier: Apache-2.0
//
// Files by the calls of POSIX, and what Linux and macOS have beyond them. See skald/base/files/file_calls.h.

#ifndef SKALD_BASE_FILES_DETAIL_POSIX_FILE_CALLS_H_
#define SKALD_BASE_FILES_DETAIL_POSIX_FILE_CALLS_H_

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "skald/base/files/file_calls.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

inline Descriptor OpenFile(const char* path, int flags, FileMode mode = 0) {
  return Descriptor(Uninterrupted([&] { return ::open(path, flags | O_CLOEXEC, static_cast<mode_t>(mode)); }));
}

// O_NONBLOCK: opening a pipe would block until it has a writer.
SKALD_INLINE Descriptor OpenToRead(const std::filesystem::path& path) {
  return OpenFile(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

SKALD_INLINE Descriptor OpenOrMake(const std::filesystem::path& path, FileMode mode) {
  return OpenFile(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode);
}

SKALD_INLINE Descriptor MakeNew(const std::filesystem::path& path, FileMode mode) {
  return OpenFile(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
}

#ifdef O_TMPFILE
// The path by which the system refers to an open file of this process.
inline std::string NameOfOpen(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

SKALD_INLINE Descriptor MakeNameless(const std::filesystem::path& folder, FileMode mode) {
  Descriptor file = OpenFile(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY, mode);
  const bool can_be_named = file.get() >= 0 && ::access(NameOfOpen(file.get()).c_str(), F_OK) == 0;
  return can_be_named ? std::move(file) : Descriptor();
}

SKALD_INLINE bool GiveName(int fd, const std::filesystem::path& path) {
  const std::string open_file = NameOfOpen(fd);
  const auto link = [&] { return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW); };
  return Uninterrupted(link) == 0;
}
#else
SKALD_INLINE Descriptor MakeNameless(const std::filesystem::path&, FileMode) {
  errno = ENOTSUP;
  return Descriptor();
}

SKALD_INLINE bool GiveName(int, const std::filesystem::path&) {
  errno = ENOTSUP;
  return false;
}
#endif

SKALD_INLINE int64_t ReadSome(int fd, std::span<std::byte> bytes) {
  return Uninterrupted([&] { return ::read(fd, bytes.data(), bytes.size()); });
}

// As ::send to a socket, without the signal for a peer that went away.
inline ssize_t SendQuietly(int fd, std::span<const std::byte> bytes) {
#ifdef MSG_NOSIGNAL
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
#else
  const int quiet = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &quiet, sizeof(quiet)) != 0) return -1;
  return ::send(fd, bytes.data(), bytes.size(), 0);
#endif
}

SKALD_INLINE int64_t WriteSome(int fd, std::span<const std::byte> bytes) {
  return Uninterrupted([&] {
    const ssize_t sent = SendQuietly(fd, bytes);
    return sent < 0 && errno == ENOTSOCK ? ::write(fd, bytes.data(), bytes.size()) : sent;
  });
}

SKALD_INLINE bool Sync(int fd) {
#ifdef F_FULLFSYNC
  if (::fcntl(fd, F_FULLFSYNC) == 0) return true;  // fsync of macOS leaves the bytes in the disk's own memory
#endif
  return Uninterrupted([fd] { return ::fsync(fd); }) == 0;
}

SKALD_INLINE void HintLetGo([[maybe_unused]] int fd) {
#ifdef POSIX_FADV_DONTNEED
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
#endif
}

inline FileKind KindOf(mode_t mode) {
  return S_ISREG(mode)   ? FileKind::kRegular
         : S_ISDIR(mode) ? FileKind::kFolder
         : S_ISLNK(mode) ? FileKind::kLink
                         : FileKind::kOther;
}

inline FileTime TimeOf(const timespec& time) { return {time.tv_sec, time.tv_nsec}; }

inline FileFacts FactsOf(const struct stat& status) {
  FileFacts facts;
  facts.kind = KindOf(status.st_mode);
  facts.bytes = static_cast<uint64_t>(status.st_size);
#ifdef __APPLE__
  facts.modified = TimeOf(status.st_mtimespec);
  facts.accessed = TimeOf(status.st_atimespec);
  facts.changed = TimeOf(status.st_ctimespec);
#else
  facts.modified = TimeOf(status.st_mtim);
  facts.accessed = TimeOf(status.st_atim);
  facts.changed = TimeOf(status.st_ctim);
#endif
  facts.device = static_cast<uint64_t>(status.st_dev);
  facts.number = static_cast<uint64_t>(status.st_ino);
  facts.mode = static_cast<FileMode>(status.st_mode) & 07777;
  facts.owner = status.st_uid;
  facts.group = status.st_gid;
  return facts;
}

SKALD_INLINE std::optional<FileFacts> FactsOf(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return FactsOf(status);
}

SKALD_INLINE std::optional<FileFacts> FactsOf(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.empty() ? "." : path.c_str(), &status) != 0) return std::nullopt;
  return FactsOf(status);
}

SKALD_INLINE std::optional<FileFacts> FactsOfEntry(const std::filesystem::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return FactsOf(status);
}

// Times for the system's calls: of the last read, and the other one unchanged.
struct AccessTimes {
  explicit AccessTimes(FileTime time) {
    times[0].tv_sec = static_cast<time_t>(time.seconds);
    times[0].tv_nsec = static_cast<long>(time.nanoseconds);
    times[1].tv_nsec = UTIME_OMIT;
  }
  timespec times[2] = {};
};

SKALD_INLINE bool SetAccessTime(int fd, FileTime time) { return ::futimens(fd, AccessTimes(time).times) == 0; }

SKALD_INLINE bool SetAccessTime(const std::filesystem::path& path, FileTime time) {
  return ::utimensat(AT_FDCWD, path.c_str(), AccessTimes(time).times, 0) == 0;
}

SKALD_INLINE bool Touch(const std::filesystem::path& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0;
}

SKALD_INLINE bool Rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return Uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) == 0;
}

SKALD_INLINE bool RemoveName(const char* path) { return ::unlink(path) == 0; }

SKALD_INLINE bool TryLock(int fd) {
  return Uninterrupted([fd] { return ::flock(fd, LOCK_EX | LOCK_NB); }) == 0;
}

SKALD_INLINE uint64_t ThisProcessId() { return static_cast<uint64_t>(::getpid()); }

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_POSIX_FILE_CALLS_H_
