// SPDX-License-Identifier: Apache-2.0
//
// What weights were packed from, so that a packed file is found to be stale when its source changes.

#ifndef SKALD_WEIGHTS_PACKED_SOURCE_H_
#define SKALD_WEIGHTS_PACKED_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/xxh64.h"
#include "skald/weights/mapped_file.h"
#include "skald/weights/message.h"

namespace skald {
namespace internal {

// The files of the checkpoint at `path`: itself, or all of a folder that can be part of one, sorted by name.
inline Result<std::vector<std::filesystem::path>> SourceFiles(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_index = path.extension() == ".json";
  if (!is_index && !std::filesystem::is_directory(path, error)) return std::vector{path};
  std::vector<std::filesystem::path> files;
  const auto folder = is_index ? path.parent_path() : path;
  for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto& file = entry->path();
    const bool is_part = file.extension() == ".safetensors" || file.extension() == ".gguf" ||
                         file.filename().string().ends_with(".safetensors.index.json");
    if (is_part) files.push_back(file);
  }
  if (error) return Fail(ErrorCode::kNotFound, Concat({path.string(), ": ", error.message()}));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace internal

// Describes the checkpoint at `path` (a folder or a file) in a line for each of its files: name, bytes, time of
// modification in the file system library's units, and the XXH64 of the first megabyte, which holds the file's header.
// Reads no more than that; a change of content that leaves all four as they are is not seen. Where the folder lies does
// not matter.
inline Result<std::string> DescribeSource(const std::filesystem::path& path) {
  constexpr size_t kBeginning = size_t{1} << 20;
  const auto files = internal::SourceFiles(path);
  if (!files) return Failure(files.error());
  std::string text;
  for (const auto& file : *files) {
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

#endif  // SKALD_WEIGHTS_PACKED_SOURCE_H_
