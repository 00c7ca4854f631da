// SPDX-License-Identifier: Apache-2.0
//
// Mapped files by the calls of Windows. See skald/base/files/file_memory.h.

#ifndef SKALD_BASE_FILES_DETAIL_WINDOWS_FILE_MEMORY_H_
#define SKALD_BASE_FILES_DETAIL_WINDOWS_FILE_MEMORY_H_

#include "skald/base/files/detail/windows/system.h"
#include "skald/base/files/file_memory.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE void* MapFile(int fd, size_t bytes) {
  const Handle mapping(::CreateFileMappingW(HandleOf(fd), nullptr, PAGE_READONLY, 0, 0, nullptr));
  void* const data = mapping.is_open() ? ::MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, bytes) : nullptr;
  if (data == nullptr) Refused();
  return data;
}

SKALD_INLINE void UnmapFile(void* data, size_t) { ::UnmapViewOfFile(data); }

SKALD_INLINE void* TakePages(size_t bytes) {
  void* const data = ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (data == nullptr) Refused();
  return data;
}

SKALD_INLINE void ReturnPages(void* data, size_t) { ::VirtualFree(data, 0, MEM_RELEASE); }

SKALD_INLINE void HintWillRead(const void* data, size_t bytes) {
  WIN32_MEMORY_RANGE_ENTRY range = {const_cast<void*>(data), bytes};  // NOLINT: nothing is written
  (void)::PrefetchVirtualMemory(::GetCurrentProcess(), 1, &range, 0);
}

SKALD_INLINE void HintReadOnce(void*, size_t) {}

// Pages that are not locked leave the process's memory by this call; they stay in the system's cache while there is
// room.
SKALD_INLINE void HintLetGo(void* data, size_t bytes) { (void)::VirtualUnlock(data, bytes); }

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_WINDOWS_FILE_MEMORY_H_
