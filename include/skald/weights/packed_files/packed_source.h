// SPDX-License-Identifier: Apache-2.0
//
// What weights were packed from, so that a packed file is found to be stale when its source changes.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_SOURCE_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "skald/base/files/model_files.h"
#include "skald/base/message.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/result.h"
#include "skald/weights/files/mapped_file.h"

namespace skald {
// Describes the checkpoint at `path` (a folder or a file) in a line for each of its files: name, bytes, time of
// modification in the file system library's units, and the XXH64 of the first megabyte, which holds the file's header.
// Reads no more than that; a change of content that leaves all four as they are is not seen. Where the folder lies does
// not matter.
inline Result<std::string> DescribeSource(const std::filesystem::path& path) {
  constexpr size_t kBeginning = size_t{1} << 20;
  const auto files = ModelFilesAt(path);
  if (!files) return Failure(files.error());
  std::string text;
  for (const auto& file : files->all()) {
    const auto map = MappedFile::Open(file);
    if (!map) return Failure(map.error());
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
    if (error) return Fail(ErrorCode::kNotFound, Concat({file.string(), ": ", error.message()}));
    const uint64_t checksum = Xxh64(map->bytes().first(std::min(map->bytes().size(), kBeginning)));
    text += Concat({file.filename().string(), " ", std::to_string(map->bytes().size()), " ", std::to_string(time), " ",
                    std::to_string(checksum), "\n"});
  }
  return text;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_SOURCE_H_
