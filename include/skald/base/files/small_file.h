// SPDX-License-Identifier: Apache-2.0
//
// Reads a whole small file: settings, tokenizers, prompts. Weights and chunks have readers of their own, and tell what
// a file is by its first bytes.

#ifndef SKALD_BASE_FILES_SMALL_FILE_H_
#define SKALD_BASE_FILES_SMALL_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// Returns the bytes of the regular file at `path`. Errors name it: kNotFound; kInvalidArgument for a folder, a device,
/// a pipe or a socket; kOutOfRange for more than `max_bytes`; kFailedPrecondition where the system refuses; kDataLoss
/// where the file shrinks meanwhile. Never waits for a writer, and takes no more memory than the file has bytes.
Result<std::string> ReadSmallFile(const std::filesystem::path& path, uint64_t max_bytes);

/// Returns whether the regular file at `path` begins with `magic`, which has at most 16 bytes. What cannot be read does
/// not.
bool FileBeginsWith(const std::filesystem::path& path, std::string_view magic) noexcept;

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/small_file.h"
#endif

#endif  // SKALD_BASE_FILES_SMALL_FILE_H_
