// SPDX-License-Identifier: Apache-2.0
//
// Mapped files by the calls of POSIX. See skald/base/files/file_memory.h.

#ifndef SKALD_BASE_FILES_DETAIL_POSIX_FILE_MEMORY_H_
#define SKALD_BASE_FILES_DETAIL_POSIX_FILE_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "skald/base/files/file_memory.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE void* MapFile(int fd, size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  return data == MAP_FAILED ? nullptr : data;
}

SKALD_INLINE void UnmapFile(void* data, size_t bytes) { ::munmap(data, bytes); }

SKALD_INLINE void* TakePages(size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

SKALD_INLINE void ReturnPages(void* data, size_t bytes) { ::munmap(data, bytes); }

SKALD_INLINE void HintWillRead(const void* data, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(data) % page;
  char* const begin = static_cast<char*>(const_cast<void*>(data)) - before;  // NOLINT: nothing is written
  (void)::posix_madvise(begin, before + bytes, POSIX_MADV_WILLNEED);
}

SKALD_INLINE void HintReadOnce(void* data, size_t bytes) { (void)::posix_madvise(data, bytes, POSIX_MADV_SEQUENTIAL); }

SKALD_INLINE void HintLetGo(void* data, size_t bytes) { (void)::madvise(data, bytes, MADV_DONTNEED); }

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_POSIX_FILE_MEMORY_H_
