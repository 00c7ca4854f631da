// SPDX-License-Identifier: Apache-2.0
//
// Describes the source of packed weights, so that a packed file is found to be stale when its source changes.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_SOURCE_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_SOURCE_H_

#include <filesystem>
#include <string>

#include "skald/base/result.h"

namespace skald {

class MappedFile;  ///< weights/files/mapped_file.h

/// Describes the checkpoint at `path` (a folder or a file) in a line for each of its files: name, bytes, time of
/// modification in nanoseconds since 1970, and the XXH64 of the first megabyte, which holds the file's header.
/// Reads no more than that; a change that preserves all four is not noticed. The folder's location is not part of it.
Result<std::string> DescribeSource(const std::filesystem::path& path);

/// Returns the line of one file that is open already. Error: kFailedPrecondition where `path` has become another file
/// since, or another version of it.
Result<std::string> DescribeSourceFile(const std::filesystem::path& path, const MappedFile& map);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packed_files/detail/packed_source.h"
#endif

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_SOURCE_H_
