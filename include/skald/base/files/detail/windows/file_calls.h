// SPDX-License-Identifier: Apache-2.0
//
// Files by the calls of Windows. See skald/base/files/file_calls.h.

#ifndef SKALD_BASE_FILES_DETAIL_WINDOWS_FILE_CALLS_H_
#define SKALD_BASE_FILES_DETAIL_WINDOWS_FILE_CALLS_H_

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "skald/base/files/detail/windows/system.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

// Makes a descriptor of a handle, which it then owns.
inline Descriptor DescriptorOf(Handle handle) {
  if (!handle.is_open()) return Descriptor();
  const int fd = ::_open_osfhandle(reinterpret_cast<intptr_t>(handle.get()), _O_BINARY | _O_NOINHERIT);
  if (fd >= 0) handle.release();
  return Descriptor(fd);
}

// A folder is opened too, so that the error says that it is one.
SKALD_INLINE Descriptor OpenToRead(const std::filesystem::path& path) {
  return DescriptorOf(OpenHandle(path, GENERIC_READ, OPEN_EXISTING));
}

SKALD_INLINE Descriptor OpenOrMake(const std::filesystem::path& path, FileMode) {
  Descriptor file =
      DescriptorOf(OpenHandle(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT));
  const auto facts = file.get() < 0 ? std::nullopt : FactsOf(file.get());
  if (!facts || facts->kind != FileKind::kLink) return file;
  file = Descriptor();
  errno = ELOOP;
  return file;
}

SKALD_INLINE Descriptor MakeNew(const std::filesystem::path& path, FileMode) {
  return DescriptorOf(OpenHandle(path, GENERIC_READ | GENERIC_WRITE, CREATE_NEW));
}

SKALD_INLINE Descriptor MakeNameless(const std::filesystem::path&, FileMode) {
  errno = ENOTSUP;
  return Descriptor();
}

SKALD_INLINE bool GiveName(int, const std::filesystem::path&) {
  errno = ENOTSUP;
  return false;
}

// The most bytes of one call: the C library counts them in an int.
inline unsigned PartOf(size_t bytes) { return static_cast<unsigned>(std::min(bytes, size_t{1} << 30)); }

SKALD_INLINE int64_t ReadSome(int fd, std::span<std::byte> bytes) {
  return HandleOf(fd) == INVALID_HANDLE_VALUE ? -1 : ::_read(fd, bytes.data(), PartOf(bytes.size()));
}

SKALD_INLINE int64_t WriteSome(int fd, std::span<const std::byte> bytes) {
  return HandleOf(fd) == INVALID_HANDLE_VALUE ? -1 : ::_write(fd, bytes.data(), PartOf(bytes.size()));
}

SKALD_INLINE bool Sync(int fd) { return ::FlushFileBuffers(HandleOf(fd)) != 0 || Refused(); }

SKALD_INLINE void HintLetGo(int) {}  // Windows has no such call

// The system counts in units of 100 ns since 1601.
inline constexpr int64_t kUnitsPerSecond = 10'000'000, kSecondsTo1970 = 11'644'473'600;

inline FileTime TimeOf(int64_t units) {
  return {units / kUnitsPerSecond - kSecondsTo1970, units % kUnitsPerSecond * (1'000'000'000 / kUnitsPerSecond)};
}

inline FILETIME SystemTimeOf(FileTime time) {
  const auto units = static_cast<uint64_t>((time.seconds + kSecondsTo1970) * kUnitsPerSecond +
                                           time.nanoseconds / (1'000'000'000 / kUnitsPerSecond));
  return {static_cast<DWORD>(units), static_cast<DWORD>(units >> 32)};
}

// Links are among the reparse points, as are files whose content the system fetches from elsewhere.
inline FileKind KindOf(DWORD attributes, DWORD tag) {
  const bool is_link = (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && IsReparseTagNameSurrogate(tag);
  return is_link                                        ? FileKind::kLink
         : (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileKind::kFolder
                                                        : FileKind::kRegular;
}

inline std::optional<FileFacts> FactsOfHandle(HANDLE handle) {
  FileFacts facts;
  BY_HANDLE_FILE_INFORMATION file;
  FILE_BASIC_INFO times;
  FILE_ATTRIBUTE_TAG_INFO kind;
  if (::GetFileInformationByHandle(handle, &file) == 0 ||
      ::GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof(times)) == 0 ||
      ::GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &kind, sizeof(kind)) == 0) {
    Refused();
    const DWORD type = handle == INVALID_HANDLE_VALUE ? FILE_TYPE_UNKNOWN : ::GetFileType(handle);
    if (type == FILE_TYPE_CHAR || type == FILE_TYPE_PIPE) return facts;
    return std::nullopt;
  }
  const auto joined = [](DWORD high, DWORD low) { return uint64_t{high} << 32 | low; };
  facts.kind = KindOf(kind.FileAttributes, kind.ReparseTag);
  facts.bytes = joined(file.nFileSizeHigh, file.nFileSizeLow);
  facts.modified = TimeOf(times.LastWriteTime.QuadPart);
  facts.accessed = TimeOf(times.LastAccessTime.QuadPart);
  facts.changed = TimeOf(times.ChangeTime.QuadPart);
  facts.device = file.dwVolumeSerialNumber;
  facts.number = joined(file.nFileIndexHigh, file.nFileIndexLow);
  return facts;
}

SKALD_INLINE std::optional<FileFacts> FactsOf(int fd) { return FactsOfHandle(HandleOf(fd)); }

SKALD_INLINE std::optional<FileFacts> FactsOf(const std::filesystem::path& path) {
  const Handle file = OpenHandle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING);
  if (!file.is_open()) return std::nullopt;
  return FactsOfHandle(file.get());
}

SKALD_INLINE std::optional<FileFacts> FactsOfEntry(const std::filesystem::path& path) {
  const Handle file = OpenHandle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
  if (!file.is_open()) return std::nullopt;
  return FactsOfHandle(file.get());
}

inline bool SetTimes(HANDLE handle, FileTime accessed, const FILETIME* modified) {
  const FILETIME time = SystemTimeOf(accessed);
  return ::SetFileTime(handle, nullptr, &time, modified) != 0 || Refused();
}

// A descriptor to read may not set times: the file is opened once more.
SKALD_INLINE bool SetAccessTime(int fd, FileTime time) {
  const Handle file(::ReOpenFile(HandleOf(fd), FILE_WRITE_ATTRIBUTES, kShareAll, 0));
  return file.is_open() ? SetTimes(file.get(), time, nullptr) : Refused();
}

SKALD_INLINE bool SetAccessTime(const std::filesystem::path& path, FileTime time) {
  const Handle file = OpenHandle(path, FILE_WRITE_ATTRIBUTES, OPEN_EXISTING);
  return file.is_open() && SetTimes(file.get(), time, nullptr);
}

SKALD_INLINE bool Touch(const std::filesystem::path& path) {
  const Handle file = OpenHandle(path, FILE_WRITE_ATTRIBUTES, OPEN_EXISTING);
  const FileTime now = FileTime::Now();
  const FILETIME modified = SystemTimeOf(now);
  return file.is_open() && SetTimes(file.get(), now, &modified);
}

// Renames an open file as POSIX does, also over a file that is open; Windows 10 has this for NTFS.
inline bool RenameOpen(HANDLE file, std::wstring_view to) {
  constexpr DWORD kReplace = 1, kLikePosix = 2, kAlsoReadOnly = 0x40;
  constexpr auto kRenameAsAsked = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);  // FileRenameInfoEx, not in all headers
  std::vector<std::byte> buffer(sizeof(FILE_RENAME_INFO) + (to.size() + 1) * sizeof(wchar_t));
  auto* const asked = reinterpret_cast<FILE_RENAME_INFO*>(buffer.data());
  const DWORD flags = kReplace | kLikePosix | kAlsoReadOnly;
  std::memcpy(buffer.data(), &flags, sizeof(flags));  // in the place of ReplaceIfExists, which old headers alone have
  asked->FileNameLength = static_cast<DWORD>(to.size() * sizeof(wchar_t));
  std::memcpy(asked->FileName, to.data(), asked->FileNameLength);
  return ::SetFileInformationByHandle(file, kRenameAsAsked, asked, static_cast<DWORD>(buffer.size())) != 0;
}

SKALD_INLINE bool Rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  const SystemPath target(to);
  {
    const Handle file = OpenHandle(from, DELETE | SYNCHRONIZE, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
    if (!file.is_open()) return false;
    if (RenameOpen(file.get(), target.get())) return true;
  }
  return ::MoveFileExW(SystemPath(from).get(), target.get(), MOVEFILE_REPLACE_EXISTING) != 0 || Refused();
}

SKALD_INLINE bool RemoveName(const wchar_t* path) { return ::DeleteFileW(SystemPath(path).get()) != 0 || Refused(); }

// Locks keep others from reading what they lock: one byte beyond the end of any file.
SKALD_INLINE bool TryLock(int fd) {
  OVERLAPPED place = {};
  place.OffsetHigh = 0x40000000;
  return ::LockFileEx(HandleOf(fd), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place) != 0 ||
         Refused();
}

SKALD_INLINE uint64_t ThisProcessId() { return ::GetCurrentProcessId(); }

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_WINDOWS_FILE_CALLS_H_
