// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/file_memory.h: all are the system's.

#ifndef SKALD_BASE_FILES_DETAIL_FILE_MEMORY_H_
#define SKALD_BASE_FILES_DETAIL_FILE_MEMORY_H_

#include "skald/base/files/file_memory.h"

#ifdef _WIN32
#include "skald/base/files/detail/windows/file_memory.h"
#else
#include "skald/base/files/detail/posix/file_memory.h"
#endif

#endif  // SKALD_BASE_FILES_DETAIL_FILE_MEMORY_H_
