// SPDX-License-Identifier: Apache-2.0
//
// System calls with the handling that every caller needs: calls interrupted by signals are repeated, descriptors close
// themselves, errors are sentences. The calls themselves are in file_calls.h and file_memory.h.

#ifndef SKALD_BASE_FILES_SYSTEM_CALL_H_
#define SKALD_BASE_FILES_SYSTEM_CALL_H_

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

/// Whether an errno means that there is no room on the disk.
bool IsFull(int code);

/// Closes a descriptor, even if a signal interrupts the call. Returns -1 and leaves errno if the system reports an
/// error.
int CloseDescriptor(int fd);

/// A descriptor that its owner's destructor closes. Move-only. On Windows it is one of the C library's.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { (void)Close(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

  /// CloseDescriptor, if it has one; else returns 0.
  int Close();

 private:
  int fd_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/system_call.h"
#endif

#endif  // SKALD_BASE_FILES_SYSTEM_CALL_H_
