// SPDX-License-Identifier: Apache-2.0
//
// Reads a whole small file: settings, tokenizers, prompts. Weights and chunks have their own readers. Also recognises a
// file by its first bytes.

#ifndef SKALD_BASE_FILES_SMALL_FILE_H_
#define SKALD_BASE_FILES_SMALL_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// Returns the bytes of the regular file at `path`. Errors name it: kNotFound; kInvalidArgument for a folder, a device,
/// a pipe or a socket; kOutOfRange for more than `max_bytes`; kFailedPrecondition if the system refuses; kDataLoss if
/// the file shrinks while it is read. Never waits for a writer, and allocates no more than the file's size.
Result<std::string> ReadSmallFile(const std::filesystem::path& path, uint64_t max_bytes);

/// Returns whether the regular file at `path` begins with `magic`, of at most 16 bytes. False if the file cannot be
/// read.
bool FileBeginsWith(const std::filesystem::path& path, std::string_view magic) noexcept;

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/small_file.h"
#endif

#endif  // SKALD_BASE_FILES_SMALL_FILE_H_
