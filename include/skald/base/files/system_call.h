// SPDX-License-Identifier: Apache-2.0
//
// The system's calls on files, with what every caller needs: signals that interrupt them, descriptors that close
// themselves, errors as sentences.

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

/// Returns call(), made again as long as a signal interrupts it.
template <class Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// The error of the last system call, about `what`.
Failure SystemFailure(std::string_view what, int code = errno);

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { (void)Close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

  /// Returns -1 and leaves errno where the system has something to report. Closed it is in any case, also where a
  /// signal interrupts the call.
  int Close() { return fd_ < 0 || ::close(release()) == 0 || errno == EINTR ? 0 : -1; }

 private:
  int fd_;
};

/// How to open what should be a regular file. Without O_NONBLOCK the name of a pipe would keep us waiting for whoever
/// writes to it.
inline constexpr int kOpenToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;

/// Refuses what is no regular file: a folder, a device, a pipe, a socket.
Result<void> CheckRegular(const struct stat& status, std::string_view name);

Descriptor OpenFile(const char* path, int flags, mode_t mode = 0);

/// True if nobody but ourselves and root can have written what the open file holds: a regular file that belongs to one
/// of the two, and that its group and others may not write to. Ask before believing a file in a folder where others may
/// put files too. Of the descriptor, not the name: a name may stand for another file a moment later.
bool IsTrustedFile(int fd);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/system_call.h"
#endif

#endif  // SKALD_BASE_FILES_SYSTEM_CALL_H_
