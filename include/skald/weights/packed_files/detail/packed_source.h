// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packed_files/packed_source.h.

#ifndef SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_
#define SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_

#include "skald/weights/packed_files/packed_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/model_files.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/system_call.h"
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
  const auto now = internal::FactsOf(path);
  if (!now) return internal::SystemFailure(PathText(path));
  if (!now->IsSameContent(map.facts())) {
    return Fail(ErrorCode::kFailedPrecondition, Concat({PathText(path), ": it changed while it was read"}));
  }
  const uint64_t checksum = Xxh64(map.bytes().first(std::min(map.bytes().size(), kBeginning)));
  return Concat({PathText(path.filename()), " ", std::to_string(map.bytes().size()), " ",
                 std::to_string(now->modified.in_nanoseconds()), " ", std::to_string(checksum), "\n"});
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_DETAIL_PACKED_SOURCE_H_
