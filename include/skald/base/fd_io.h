// SPDX-License-Identifier: Apache-2.0
//
// Sinks and sources over POSIX file descriptors: files, sockets and pipes alike.

#ifndef SKALD_BASE_FD_IO_H_
#define SKALD_BASE_FD_IO_H_

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "skald/base/result.h"
#include "skald/base/system_call.h"

namespace skald {

namespace internal {

// Makes a folder's list of names durable. An empty path is the current folder, as in the parent of "file".
inline Result<void> SyncFolder(const std::filesystem::path& path) {
  const Descriptor folder(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return SystemFailure(path.string());
  return {};
}

// The end of a temporary file's name. Rarely the same twice, even in processes that do not know of each other.
inline std::string UniqueSuffix() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return "." + std::to_string(::getpid()) + "-" + std::to_string(now.tv_sec) + "-" + std::to_string(now.tv_nsec) +
         ".tmp";
}

}  // namespace internal

// Reads from and writes to a descriptor that the caller owns and keeps open: a socket, a pipe, an open file. A peer
// that went away is an error, not a signal, where the descriptor is a socket.
class FdStream {
 public:
  // `name` stands in errors.
  FdStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  Result<void> Write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (written < 0 && errno == ENOTSOCK) written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return internal::SystemFailure(name_);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
  }

  Result<void> Read(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return internal::SystemFailure(name_);
      if (count == 0) {
        return Fail(ErrorCode::kDataLoss, name_ + ": it ends where " + std::to_string(bytes.size()) + " more bytes are "
                                          "expected");
      }
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
  }

 private:
  int fd_;
  std::string name_;
};

// A file to be read. Move-only.
class FileSource {
 public:
  static Result<FileSource> Open(const std::filesystem::path& path) {
    internal::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return internal::SystemFailure(path.string());
    return FileSource(std::move(file), path.string());
  }

  Result<void> Read(std::span<std::byte> bytes) { return FdStream(file_.get(), name_).Read(bytes); }

 private:
  FileSource(internal::Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  internal::Descriptor file_;
  std::string name_;
};

// What a file that was written survives. In all cases it outlives its writer, kill -9 included.
enum class SyncPolicy {
  kNone,           // a power cut may leave it empty or in part
  kData,           // a power cut leaves it whole or, where it was written just before, not at all
  kDataAndFolder,  // a power cut leaves it whole
};

// A file that appears whole or not at all: bytes go to a temporary file beside it, whose name goes on after that of the
// file, and Commit puts it in its place. What is not committed is removed. Move-only.
class FileSink {
 public:
  static Result<FileSink> Create(const std::filesystem::path& path) {
    for (int attempt = 0;; ++attempt) {
      std::string temporary = path.string() + internal::UniqueSuffix();
      internal::Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.get() >= 0) return FileSink(std::move(file), path, std::move(temporary));
      if (errno != EEXIST || attempt == kMaxAttempts) return internal::SystemFailure(path.string());
    }
  }
  FileSink(FileSink&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, "")) {}
  ~FileSink() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Result<void> Write(std::span<const std::byte> bytes) { return FdStream(file_.get(), path_.string()).Write(bytes); }

  // Error: the disk's or the folder's. The file that was there stays, unless only the folder's sync failed.
  Result<void> Commit(SyncPolicy sync = SyncPolicy::kDataAndFolder) {
    if (sync != SyncPolicy::kNone && ::fsync(file_.get()) != 0) return internal::SystemFailure(path_.string());
    if (::close(file_.release()) != 0) return internal::SystemFailure(path_.string());
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return internal::SystemFailure(path_.string());
    temporary_.clear();
    return sync == SyncPolicy::kDataAndFolder ? internal::SyncFolder(path_.parent_path()) : Result<void>();
  }

 private:
  static constexpr int kMaxAttempts = 100;

  FileSink(internal::Descriptor file, std::filesystem::path path, std::string temporary)
      : file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  internal::Descriptor file_;
  std::filesystem::path path_;
  std::string temporary_;  // empty once committed
};

}  // namespace skald

#endif  // SKALD_BASE_FD_IO_H_
