// SPDX-License-Identifier: Apache-2.0
//
// Files and pages in memory, for code that is the same on every system: see file_calls.h.

#ifndef SKALD_BASE_FILES_FILE_MEMORY_H_
#define SKALD_BASE_FILES_FILE_MEMORY_H_

#include <cstddef>

namespace skald::internal {

/// Maps the first `bytes` bytes of a file, at least one, to be read. nullptr if the system refuses; errno is the
/// reason. UnmapFile ends it; the descriptor may be closed before.
void* MapFile(int fd, size_t bytes);
void UnmapFile(void* data, size_t bytes);

/// Returns zeroed pages, which take memory once they are written to. Otherwise as MapFile.
void* TakePages(size_t bytes);
void ReturnPages(void* data, size_t bytes);

/// Hints about mapped bytes, which the system may ignore: they are needed soon; they are read once from front to back;
/// their pages may be released, since they can be read again.
void HintWillRead(const void* data, size_t bytes);
void HintReadOnce(void* data, size_t bytes);
void HintLetGo(void* data, size_t bytes);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/file_memory.h"
#endif

#endif  // SKALD_BASE_FILES_FILE_MEMORY_H_
