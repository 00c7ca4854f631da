// SPDX-License-Identifier: Apache-2.0
//
// Reader of one safetensors file: eight bytes of little-endian header length, a JSON object that
// maps tensor names to {dtype, shape, data_offsets}, then the data section. Format and limits as
// published at https://github.com/huggingface/safetensors: the tensors must tile the data section
// exactly, so nothing in a file is hidden and no two tensors share bytes. Every number is checked
// against the file's size before it is used. Immutable once open; safe for concurrent reads.

#ifndef SKALD_WEIGHTS_FILES_SAFETENSORS_H_
#define SKALD_WEIGHTS_FILES_SAFETENSORS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/files/safetensors_header.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

static_assert(std::endian::native == std::endian::little, "Checkpoints are little-endian and are used in place.");

/// Longest header that is read, in bytes; the reference implementation has the same limit.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

/// The tensors of a safetensors file, by its header. Offsets count from `data_begin`, a position in the file.
struct SafetensorsContents {
  std::vector<SafetensorsEntry> entries;  ///< sorted by name
  size_t data_begin = 0;                  ///< bytes
};

/// Parses and checks the whole header of a file image. `file` names it in errors, which are all
/// kDataLoss.
Result<SafetensorsContents> ParseSafetensors(const std::string& file, std::span<const std::byte> image);

/// One mapped file and its tensors. Move-only; views stay valid when it moves.
class SafetensorsFile {
 public:
  /// Maps and checks a file. Errors: those of MappedFile and of ParseSafetensors.
  static Result<SafetensorsFile> Open(const std::filesystem::path& path);

  /// Parses a file that is open already. `path` names it in errors.
  static Result<SafetensorsFile> From(const std::filesystem::path& path, MappedFile map);

  size_t size() const { return contents_.entries.size(); }

  /// Whether the file has a tensor of that name.
  bool Contains(std::string_view name) const;

  /// Returns tensor `index` in the order of names.
  TensorView operator[](size_t index) const;

 private:
  SafetensorsFile(MappedFile map, SafetensorsContents contents)
      : map_(std::move(map)), contents_(std::move(contents)) {}

  MappedFile map_;
  SafetensorsContents contents_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/safetensors.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_SAFETENSORS_H_
