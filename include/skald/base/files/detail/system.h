// SPDX-License-Identifier: Apache-2.0
//
// The system's own part of the calls that file_calls.h and file_memory.h declare: the one place that chooses.

#ifndef SKALD_BASE_FILES_DETAIL_SYSTEM_H_
#define SKALD_BASE_FILES_DETAIL_SYSTEM_H_

#ifdef _WIN32
#include "skald/base/files/detail/windows/access.h"
#include "skald/base/files/detail/windows/file_calls.h"
#include "skald/base/files/detail/windows/file_memory.h"
#include "skald/base/files/detail/windows/folder_calls.h"
#else
#include "skald/base/files/detail/posix/access.h"
#include "skald/base/files/detail/posix/file_calls.h"
#include "skald/base/files/detail/posix/file_memory.h"
#include "skald/base/files/detail/posix/folder_calls.h"
#endif

#endif  // SKALD_BASE_FILES_DETAIL_SYSTEM_H_
