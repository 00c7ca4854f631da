// SPDX-License-Identifier: Apache-2.0
//
// Reader of GGUF files, version 2 or 3: counts, metadata, a list of tensors, then the tensors, each aligned. Format:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. As in ggml's own reader the tensors must be in the order
// of the list, each where the one before it ends, up to alignment; so no two share bytes. The file ends with the last
// one. Every number is checked against the file's size before it is used. A model may be in several files, of which the
// first has the metadata and all say in "split.*" which part they are (tools/gguf-split of
// https://github.com/ggml-org/llama.cpp). Immutable once open; safe for concurrent reads.

#ifndef SKALD_WEIGHTS_FILES_GGUF_H_
#define SKALD_WEIGHTS_FILES_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
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

/// The names of tensors that belong to a weight of NVFP4.
struct FactorNames {
  std::string factors;      ///< of its numbers: one, or one for each matrix
  std::string activations;  ///< how the original rounds what is multiplied by it
};

/// Those of a tensor; nothing if it is no weight of NVFP4.
std::optional<FactorNames> FactorNamesOf(const TensorView& tensor);

}  // namespace internal

/// Returns whether a file of these bytes begins as GGUF files do.
bool IsGguf(std::span<const std::byte> image) noexcept;

/// Parses and checks a file image, except the tensors' elements. `file` names it in errors: kDataLoss, or kUnsupported
/// for an unknown version or element type.
Result<GgufContents> ParseGguf(const std::string& file, std::span<const std::byte> image);

/// One mapped file and the tensors in it.
struct GgufPart {
  std::filesystem::path path;       ///< as it was opened
  MappedFile map;                   ///< the file
  std::vector<GgufTensor> tensors;  ///< in the order of the file
};

/// A model in one mapped file, or in several parts. Move-only; views stay valid when it moves.
class GgufFile {
 public:
  /// Maps and checks a file and, if it is the first part of several, the others beside it, which its name tells
  /// (base/files/part_name.h). Errors: those of MappedFile and of ParseGguf; kInvalidArgument for another part than the
  /// first; kDataLoss for parts that do not belong together.
  static Result<GgufFile> Open(const std::filesystem::path& path);

  /// Parses a file that is open already, and opens its other parts. `path` names it in errors.
  static Result<GgufFile> From(const std::filesystem::path& path, MappedFile map);

  /// The files, at least one.
  std::span<const GgufPart> parts() const { return parts_; }

  /// Those of the first part. Views of the file: valid as long as this.
  const GgufMetadata& metadata() const { return metadata_; }

  /// Tensors in all parts, and parameters that metadata hold for each layer ("blk.0.xielu.beta").
  size_t size() const { return tensors_.size(); }

  /// Returns tensor `index` in the order of the parts.
  const TensorView& operator[](size_t index) const { return tensors_[index]; }

 private:
  GgufFile(std::vector<GgufPart> parts, GgufMetadata metadata);

  std::vector<GgufPart> parts_;
  GgufMetadata metadata_;
  /// Adds arrays of metadata that hold a parameter of each layer, as tensors of the layers.
  void AddLayerNumbers();

  /// Gives tensors of NVFP4 the factors that other tensors hold.
  void FindFactors();

  /// Says of ternary tensors of BitNet that their inputs are rounded by rows.
  void FindRowScales();

  std::vector<TensorView> tensors_;      ///< of the parts, and numbers of layers
  std::deque<std::string> added_names_;  ///< of the latter
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/gguf.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_GGUF_H_
