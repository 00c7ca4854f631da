// SPDX-License-Identifier: Apache-2.0
//
// File system calls with the handling that every caller needs: calls interrupted by signals are repeated, descriptors
// close themselves, errors are sentences.

#ifndef SKALD_BASE_FILES_SYSTEM_CALL_H_
#define SKALD_BASE_FILES_SYSTEM_CALL_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "skald/base/result.h"

namespace skald::internal {

/// Returns call(), repeated while a signal interrupts it.
template <class Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Returns the error of the last system call, about `what`.
Failure SystemFailure(std::string_view what, int code = errno);

/// A descriptor that its owner's destructor closes. Move-only.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { (void)Close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

  /// Closes the descriptor, even if a signal interrupts the call. Returns -1 and leaves errno if the system reports an
  /// error.
  int Close() { return fd_ < 0 || ::close(release()) == 0 || errno == EINTR ? 0 : -1; }

 private:
  int fd_;
};

/// Flags to open what should be a regular file. Without O_NONBLOCK, opening a pipe would block until it has a writer.
inline constexpr int kOpenToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;

/// Refuses everything that is not a regular file: a folder, a device, a pipe, a socket.
Result<void> CheckRegular(const struct stat& status, std::string_view name);

Descriptor OpenFile(const char* path, int flags, mode_t mode = 0);

/// Returns whether only this user or root can have written the open file: it is a regular file that belongs to one of
/// them, and neither its group nor others may write to it. Check this before trusting a file in a folder that others
/// may write to. Takes the descriptor, not the name, because a name may refer to another file a moment later.
bool IsTrustedFile(int fd);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/system_call.h"
#endif

#endif  // SKALD_BASE_FILES_SYSTEM_CALL_H_
