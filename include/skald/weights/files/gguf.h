// SPDX-License-Identifier: Apache-2.0
//
// Reader of one GGUF file, version 2 or 3: counts, metadata, a list of tensors, then the tensors, each aligned. Format:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. As in ggml's own reader the tensors must be in the order
// of the list, each where the one before it ends, up to alignment; so no two share bytes. The file ends with the last
// one. Every number is checked against the file's size before it is used. Immutable once open; safe for concurrent
// reads.

#ifndef SKALD_WEIGHTS_FILES_GGUF_H_
#define SKALD_WEIGHTS_FILES_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/gguf_cursor.h"
#include "skald/weights/files/gguf_metadata.h"
#include "skald/weights/files/gguf_types.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

/// Most bytes before the tensors that are read. Their decoded form takes a few times as much memory at worst.
inline constexpr size_t kMaxGgufHeader = 100'000'000;

/// A tensor's place in a GGUF file.
struct GgufTensor {
  std::string name;             ///< as the file spells it
  const GgufType* type;         ///< of kGgufTypes
  std::vector<uint64_t> shape;  ///< outermost axis first
  size_t begin, size;           ///< bytes of the file
};

/// The metadata and the list of tensors of a GGUF file.
struct GgufContents {
  GgufMetadata metadata;            ///< its arrays are views of the file's image
  std::vector<GgufTensor> tensors;  ///< in the order of the file
};

namespace internal {

GgufContents ReadGguf(std::span<const std::byte> image, GgufCursor& cursor);

}  // namespace internal

/// Returns whether a file of these bytes begins as GGUF files do.
bool IsGguf(std::span<const std::byte> image) noexcept;

/// Parses and checks a file image, except the tensors' elements. `file` names it in errors: kDataLoss, or kUnsupported
/// for an unknown version or element type.
Result<GgufContents> ParseGguf(const std::string& file, std::span<const std::byte> image);

/// One mapped file and its tensors. Move-only; views stay valid when it moves.
class GgufFile {
 public:
  /// Maps and checks a file. Errors: those of MappedFile and of ParseGguf.
  static Result<GgufFile> Open(const std::filesystem::path& path);

  /// Parses a file that is open already. `path` names it in errors.
  static Result<GgufFile> From(const std::filesystem::path& path, MappedFile map);

  /// The file, mapped.
  const MappedFile& map() const { return map_; }

  /// Views of the file: valid as long as this.
  const GgufMetadata& metadata() const { return contents_.metadata; }

  size_t size() const { return contents_.tensors.size(); }

  /// Returns tensor `index` in the order of the file.
  TensorView operator[](size_t index) const;

 private:
  GgufFile(MappedFile map, GgufContents contents);

  MappedFile map_;
  GgufContents contents_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/gguf.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_GGUF_H_
