// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packed_files/packed_source.h.

#ifndef SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_
#define SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_

#include "skald/weights/packed_files/packed_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "skald/base/files/model_files.h"
#include "skald/base/inline.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/mapped_file.h"

namespace skald {

SKALD_INLINE Result<std::string> DescribeSource(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto files, ModelFilesAt(path));
  std::string text;
  for (const auto& file : files.all()) {
    SKALD_ASSIGN(const auto map, MappedFile::Open(file));
    SKALD_ASSIGN(const auto line, DescribeSourceFile(file, map));
    text += line;
  }
  return text;
}

SKALD_INLINE Result<std::string> DescribeSourceFile(const std::filesystem::path& path, const MappedFile& map) {
  constexpr size_t kBeginning = size_t{1} << 20;
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error).time_since_epoch().count();
  if (error) return Fail(ErrorCode::kNotFound, Concat({path.string(), ": ", error.message()}));
  // The time is that of the path. It is that of the open file if both are the same afterwards.
  struct stat now;
  const struct stat& then = map.status();
  if (::stat(path.c_str(), &now) != 0 || now.st_ino != then.st_ino || now.st_dev != then.st_dev ||
      now.st_size != then.st_size || now.st_mtim.tv_sec != then.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != then.st_mtim.tv_nsec) {
    return Fail(ErrorCode::kFailedPrecondition, Concat({path.string(), ": it changed while it was read"}));
  }
  const uint64_t checksum = Xxh64(map.bytes().first(std::min(map.bytes().size(), kBeginning)));
  return Concat({path.filename().string(), " ", std::to_string(map.bytes().size()), " ",
                 std::to_string(static_cast<int64_t>(time)), " ", std::to_string(checksum), "\n"});
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_
