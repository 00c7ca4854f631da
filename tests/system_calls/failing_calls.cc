// SPDX-License-Identifier: Apache-2.0
#include "tests/system_calls/failing_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <span>

namespace skald::testing {
namespace {

FaultPlan plan;
bool armed = false;
size_t calls = 0;  // since it is armed, that the fault can befall

// Errors that a call may have, and whether it may be interrupted or do a part.
struct Kind {
  std::span<const int> errors;
  bool can_wait = false, can_be_short = false;
};

constexpr int kOpenErrors[] = {EMFILE, EACCES, ENOSPC, EIO, EROFS}, kNameErrors[] = {EACCES, EIO, EROFS, ENOSPC};
constexpr int kNamelessErrors[] = {EOPNOTSUPP, EMFILE, ENOSPC};
constexpr int kReadErrors[] = {EIO}, kWriteErrors[] = {ENOSPC, EIO}, kLookErrors[] = {EACCES, EIO};
constexpr int kFolderErrors[] = {EMFILE, EACCES}, kMapErrors[] = {ENOMEM, EACCES}, kLockErrors[] = {ENOLCK, EIO};
constexpr Kind kOpen{kOpenErrors, true}, kOpenNameless{kNamelessErrors, true}, kName{kNameErrors}, kLook{kLookErrors};
constexpr Kind kRead{kReadErrors, true, true}, kWrite{kWriteErrors, true, true}, kSync{kWriteErrors, true};
constexpr Kind kFolder{kFolderErrors}, kNext{kReadErrors}, kMap{kMapErrors}, kLock{kLockErrors, true};

uint32_t Mixed(size_t number) {
  uint64_t bits = (number + 1) * 0x9E3779B97F4A7C15u + plan.seed * 0xD1B54A32D192ED03u;
  bits = (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9u;
  return static_cast<uint32_t>(bits >> 32);
}

// Counts the call and returns whether it is to fail.
bool Befalls(bool can_befall) {
  if (!armed || !can_befall) return false;
  const size_t number = calls++;
  return number >= plan.first && number - plan.first < plan.count && Mixed(number) % plan.one_in == 0;
}

// Returns whether the call fails, errno set.
bool Fails(const Kind& kind) {
  if (plan.fault == Fault::kShort || !Befalls(plan.fault == Fault::kError || kind.can_wait)) return false;
  errno = plan.fault == Fault::kInterrupt ? EINTR : kind.errors[(calls + plan.seed) % kind.errors.size()];
  return true;
}

// Returns how many bytes of `count` a call does.
size_t Part(size_t count) {
  if (plan.fault != Fault::kShort || count < 2 || !Befalls(true)) return count;
  return 1 + Mixed(calls) % (count - 1);
}

template <class Function>
Function* Real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

FailingCalls::FailingCalls(const FaultPlan& wanted) {
  plan = wanted;
  calls = 0;
  armed = true;
}
FailingCalls::~FailingCalls() { armed = false; }
bool FailingCalls::reached() const { return calls > plan.first; }

size_t OpenDescriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace skald::testing

using namespace skald::testing;  // NOLINT: of this file only

// The system's own function of the same name.
#define SKALD_REAL(function)                               \
  (*[] {                                                   \
    static const auto real = Real(&::function, #function); \
    return real;                                           \
  }())

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (Fails((flags & O_TMPFILE) == O_TMPFILE ? kOpenNameless : kOpen)) return -1;
  return SKALD_REAL(open)(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return Fails(kOpen) ? -1 : SKALD_REAL(openat)(folder, path, flags, mode);
}

// Closed it is, whatever is reported.
int close(int fd) {
  const bool fails = Fails(kSync);
  const int code = errno, result = SKALD_REAL(close)(fd);
  if (!fails) return result;
  errno = code;
  return -1;
}

ssize_t read(int fd, void* bytes, size_t count) { return Fails(kRead) ? -1 : SKALD_REAL(read)(fd, bytes, Part(count)); }
ssize_t pread(int fd, void* bytes, size_t count, off_t at) {
  return Fails(kRead) ? -1 : SKALD_REAL(pread)(fd, bytes, Part(count), at);
}
ssize_t write(int fd, const void* bytes, size_t count) {
  return Fails(kWrite) ? -1 : SKALD_REAL(write)(fd, bytes, Part(count));
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
  return Fails(kWrite) ? -1 : SKALD_REAL(pwrite)(fd, bytes, Part(count), at);
}
// No test cuts the power: nothing waits for the disk.
int fsync(int) { return Fails(kSync) ? -1 : 0; }
int fdatasync(int) { return Fails(kSync) ? -1 : 0; }
int ftruncate(int fd, off_t size) noexcept { return Fails(kSync) ? -1 : SKALD_REAL(ftruncate)(fd, size); }
int posix_fallocate(int fd, off_t begin, off_t size) {
  return Fails(kSync) ? errno : SKALD_REAL(posix_fallocate)(fd, begin, size);
}
int flock(int fd, int operation) noexcept { return Fails(kLock) ? -1 : SKALD_REAL(flock)(fd, operation); }

int rename(const char* from, const char* to) noexcept { return Fails(kName) ? -1 : SKALD_REAL(rename)(from, to); }
int link(const char* from, const char* to) noexcept { return Fails(kName) ? -1 : SKALD_REAL(link)(from, to); }
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return Fails(kName) ? -1 : SKALD_REAL(linkat)(from_folder, from, to_folder, to, flags);
}
int unlink(const char* path) noexcept { return Fails(kName) ? -1 : SKALD_REAL(unlink)(path); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return Fails(kName) ? -1 : SKALD_REAL(unlinkat)(folder, path, flags);
}
int mkdir(const char* path, mode_t mode) noexcept { return Fails(kName) ? -1 : SKALD_REAL(mkdir)(path, mode); }
int chmod(const char* path, mode_t mode) noexcept { return Fails(kName) ? -1 : SKALD_REAL(chmod)(path, mode); }
int fchmod(int fd, mode_t mode) noexcept { return Fails(kName) ? -1 : SKALD_REAL(fchmod)(fd, mode); }
int fchown(int fd, uid_t user, gid_t group) noexcept { return Fails(kName) ? -1 : SKALD_REAL(fchown)(fd, user, group); }
int futimens(int fd, const timespec times[2]) noexcept { return Fails(kName) ? -1 : SKALD_REAL(futimens)(fd, times); }
int utimensat(int folder, const char* path, const timespec times[2], int flags) noexcept {
  return Fails(kName) ? -1 : SKALD_REAL(utimensat)(folder, path, times, flags);
}

int stat(const char* path, struct stat* status) noexcept { return Fails(kLook) ? -1 : SKALD_REAL(stat)(path, status); }
int lstat(const char* path, struct stat* status) noexcept {
  return Fails(kLook) ? -1 : SKALD_REAL(lstat)(path, status);
}
int fstat(int fd, struct stat* status) noexcept { return Fails(kLook) ? -1 : SKALD_REAL(fstat)(fd, status); }
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return Fails(kLook) ? -1 : SKALD_REAL(fstatat)(folder, path, status, flags);
}
ssize_t readlink(const char* path, char* target, size_t size) noexcept {
  return Fails(kLook) ? -1 : SKALD_REAL(readlink)(path, target, size);
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  return Fails(kMap) ? MAP_FAILED : SKALD_REAL(mmap)(at, size, protection, flags, fd, offset);
}
DIR* opendir(const char* path) { return Fails(kFolder) ? nullptr : SKALD_REAL(opendir)(path); }
DIR* fdopendir(int fd) { return Fails(kFolder) ? nullptr : SKALD_REAL(fdopendir)(fd); }
dirent* readdir(DIR* folder) { return Fails(kNext) ? nullptr : SKALD_REAL(readdir)(folder); }

}  // extern "C"
