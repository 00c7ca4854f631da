// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packed_files/packed_source.h.

#ifndef SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_
#define SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_

#include "skald/weights/packed_files/packed_source.h"

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
  constexpr size_t kBeginning = size_t{1} << 20;
  SKALD_ASSIGN(const auto files, ModelFilesAt(path));
  std::string text;
  for (const auto& file : files.all()) {
    SKALD_ASSIGN(const auto map, MappedFile::Open(file));
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
    if (error) return Fail(ErrorCode::kNotFound, Concat({file.string(), ": ", error.message()}));
    const uint64_t checksum = Xxh64(map.bytes().first(std::min(map.bytes().size(), kBeginning)));
    text += Concat({file.filename().string(), " ", std::to_string(map.bytes().size()), " ", std::to_string(time), " ",
                    std::to_string(checksum), "\n"});
  }
  return text;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_
