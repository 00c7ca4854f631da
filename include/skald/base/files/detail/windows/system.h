// SPDX-License-Identifier: Apache-2.0
//
// Paths of any length, errors as errno and handles, for all calls to Windows.

#ifndef SKALD_BASE_FILES_DETAIL_WINDOWS_SYSTEM_H_
#define SKALD_BASE_FILES_DETAIL_WINDOWS_SYSTEM_H_

#include <io.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/detail/windows_api.h"

namespace skald {

namespace internal {

inline int ErrnoOf(DWORD code) {
  switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_USER_MAPPED_FILE:
    case ERROR_DELETE_PENDING:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_FILE_TOO_LARGE:
      return EFBIG;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NO_SYSTEM_RESOURCES:
      return ENOMEM;
    case ERROR_LOCK_VIOLATION:
      return EWOULDBLOCK;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_WRITE_PROTECT:
      return EROFS;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    case ERROR_INVALID_FUNCTION:
    case ERROR_NOT_SUPPORTED:
      return ENOTSUP;
    default:
      return EIO;
  }
}

/// Puts the reason of the last call into errno. Returns false, as the caller does.
inline bool Refused() {
  errno = ErrnoOf(::GetLastError());
  return false;
}

/// A path as the system's calls take it. Without the prefix \\?\ they refuse 260 characters and more, and folders some
/// before that; with it, they take the path literally, so it must be absolute and in its simplest form.
class SystemPath {
 public:
  explicit SystemPath(const wchar_t* path) : path_(path) {
    const std::wstring_view text = path;
    if (text.size() < kLongest || text.starts_with(LR"(\\?\)")) return;
    std::wstring whole(32'768, L'\0');  // longer than any path
    const DWORD size = ::GetFullPathNameW(path, static_cast<DWORD>(whole.size()), whole.data(), nullptr);
    if (size == 0 || size >= whole.size()) return;
    whole.resize(size);
    const bool is_share = whole.starts_with(LR"(\\)");
    own_ = is_share ? LR"(\\?\UNC)" + whole.substr(1) : LR"(\\?\)" + whole;
    path_ = own_.c_str();
  }
  explicit SystemPath(const std::filesystem::path& path) : SystemPath(path.empty() ? L"." : path.c_str()) {}
  SystemPath(const SystemPath&) = delete;
  SystemPath& operator=(const SystemPath&) = delete;

  const wchar_t* get() const { return path_; }

 private:
  static constexpr size_t kLongest = 240;

  std::wstring own_;  ///< empty if the caller's does
  const wchar_t* path_;
};

/// A handle that closes itself. Move-only.
class Handle {
 public:
  explicit Handle(HANDLE handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, INVALID_HANDLE_VALUE)) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (is_open()) ::CloseHandle(handle_);
  }
  HANDLE get() const { return handle_; }
  HANDLE release() { return std::exchange(handle_, INVALID_HANDLE_VALUE); }
  bool is_open() const { return handle_ != INVALID_HANDLE_VALUE && handle_ != nullptr; }

 private:
  HANDLE handle_;
};

/// As on POSIX systems, a file that is open can be renamed, replaced and removed.
inline constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// Opens a file or a folder. On failure the handle is not open and errno is the reason.
inline Handle OpenHandle(const std::filesystem::path& path, DWORD access, DWORD how, DWORD flags = 0) {
  Handle handle(::CreateFileW(SystemPath(path).get(), access, kShareAll, nullptr, how,
                              FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr));
  if (!handle.is_open()) Refused();
  return handle;
}

/// The handle below a descriptor, which keeps it. The C library ends the program for a descriptor of -1.
inline HANDLE HandleOf(int fd) {
  if (fd >= 0) return reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
  errno = EBADF;
  ::SetLastError(ERROR_INVALID_HANDLE);
  return INVALID_HANDLE_VALUE;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_WINDOWS_SYSTEM_H_
