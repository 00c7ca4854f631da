// SPDX-License-Identifier: Apache-2.0
//
// Folders by the calls of Windows. See skald/base/files/file_calls.h.

#ifndef SKALD_BASE_FILES_DETAIL_WINDOWS_FOLDER_CALLS_H_
#define SKALD_BASE_FILES_DETAIL_WINDOWS_FOLDER_CALLS_H_

#include <cerrno>
#include <string>
#include <string_view>

#include "skald/base/files/detail/windows/file_calls.h"
#include "skald/base/files/detail/windows/system.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

// NTFS keeps a journal of names; this writes it. File systems that cannot are as durable as they are.
SKALD_INLINE bool SyncNames(const std::filesystem::path& folder) {
  const Handle handle = OpenHandle(folder, GENERIC_WRITE, OPEN_EXISTING);
  if (!handle.is_open()) return false;
  (void)::FlushFileBuffers(handle.get());
  return true;
}

SKALD_INLINE bool MakeOneFolder(const std::filesystem::path& path, FileMode) {
  return ::CreateDirectoryW(SystemPath(path).get(), nullptr) != 0 || Refused();
}

// The system returns the first entry when it opens the folder.
struct FolderState {
  explicit FolderState(const std::filesystem::path& path)
      : search(::FindFirstFileW(SystemPath((path.empty() ? std::filesystem::path(".") : path) / "*").get(), &entry)) {}
  FolderState(const FolderState&) = delete;
  FolderState& operator=(const FolderState&) = delete;
  ~FolderState() {
    if (search != INVALID_HANDLE_VALUE) ::FindClose(search);
  }

  WIN32_FIND_DATAW entry;
  HANDLE search;
  bool has_first = true;
  std::string name;
};

SKALD_INLINE FolderReader::FolderReader(const std::filesystem::path& path) {
  auto state = std::make_unique<FolderState>(path);
  if (state->search == INVALID_HANDLE_VALUE) {
    Refused();
  } else {
    state_.reset(state.release());
  }
}

SKALD_INLINE void FolderReader::Close::operator()(void* state) const { delete static_cast<FolderState*>(state); }

SKALD_INLINE std::optional<FolderEntry> FolderReader::Next() {
  auto& state = *static_cast<FolderState*>(state_.get());
  for (;;) {
    errno = 0;
    if (!std::exchange(state.has_first, false) && ::FindNextFileW(state.search, &state.entry) == 0) {
      if (::GetLastError() != ERROR_NO_MORE_FILES) Refused();
      return std::nullopt;
    }
    const std::wstring_view name = state.entry.cFileName;
    if (name == L"." || name == L"..") continue;
    state.name = TextOfNative(std::wstring(name));
    return FolderEntry{state.name, KindOf(state.entry.dwFileAttributes, state.entry.dwReserved0)};
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_WINDOWS_FOLDER_CALLS_H_
