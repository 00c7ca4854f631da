// SPDX-License-Identifier: Apache-2.0
//
// GgufDraft: a GGUF file before it is written, as a plain value. It is made from a GGUF file (here) or from a folder
// (open/convert_model.h); a mixture of types chooses how its tensors are quantised (mixture.h); WriteGguf writes it
// (gguf_writer.h).

#ifndef SKALD_WEIGHTS_WRITING_GGUF_DRAFT_H_
#define SKALD_WEIGHTS_WRITING_GGUF_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"
#include "skald/weights/files/gguf_types.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

/// A value of metadata, encoded as the format has it.
struct GgufEntry {
  std::string name;    ///< like "llama.block_count"
  GgufValueType type;  ///< of the value
  std::string bytes;   ///< of the value, little-endian; an array begins with the type and the number of its elements
};

/// An entry of one value.
GgufEntry GgufNumber(std::string_view name, uint32_t value);
GgufEntry GgufNumber(std::string_view name, float value);
GgufEntry GgufTruth(std::string_view name, bool value);
GgufEntry GgufText(std::string_view name, std::string_view value);

/// An entry of an array.
GgufEntry GgufNumbers(std::string_view name, std::span<const int32_t> values);
GgufEntry GgufNumbers(std::string_view name, std::span<const float> values);
GgufEntry GgufTruths(std::string_view name, std::span<const uint8_t> values);
GgufEntry GgufTexts(std::string_view name, std::span<const std::string> values);
GgufEntry GgufBytes(std::string_view name, std::string_view bytes);

/// A tensor to be written, and where its elements come from.
struct DraftTensor {
  std::string name;             ///< as the file will spell it
  std::vector<uint64_t> shape;  ///< outermost axis first, 1 to 4 axes; a row is the last axis
  const GgufType* type;         ///< of kGgufTypes: what it is written as
  /// Fills in row `row`, counted over all axes but the last, as floats. Called from several threads at once. Null for
  /// elements that are no floats.
  std::function<void(uint64_t row, std::span<float> values)> read_row;
  /// The same elements as `stored` has them, which are written unchanged if that is `type`. Null: there are none.
  const GgufType* stored = nullptr;
  std::span<const std::byte> bytes = {};  ///< see `stored`
  /// How much squared errors in each column count, positive numbers: [cols], or for a stack of matrices [shape.front(),
  /// cols]. Empty: alike.
  std::vector<float> importance = {};
  /// The tensor that this one belongs to. It is written only if that one is written unchanged: otherwise its numbers
  /// are in it already. Empty: none.
  std::string only_with = {};

  /// Of a row.
  uint64_t cols() const { return shape.back(); }
  /// Of all axes but the last.
  uint64_t rows() const;
};

/// A GGUF file before it is written. Refers to the files that its tensors are read from, which must outlive it.
struct GgufDraft {
  std::vector<GgufEntry> entries;    ///< with different names
  std::vector<DraftTensor> tensors;  ///< in the order of the file
  /// What the model has and the file will not: names of its tensors, and in words, for people, what else.
  std::vector<std::string> tensors_left_out = {}, left_out = {};

  /// Returns the entry of this name, or null.
  const GgufEntry* Find(std::string_view name) const;
  /// Replaces the entry of the same name, or appends.
  void Set(GgufEntry entry);
  /// The tensors that the file will have: all but those that belong to others which are changed (`only_with`). They
  /// point into the draft.
  std::vector<const DraftTensor*> Written() const;
};

/// Returns the draft of a file that is equal to `file`, in one part.
Result<GgufDraft> DraftOf(const GgufFile& file);

namespace internal {

/// Fills in row `row` of a tensor, floats or groups, as floats, multiplied by its factor if it has one.
void ReadRow(const TensorView& tensor, uint64_t row, std::span<float> values);

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/writing/detail/gguf_draft.h"
#endif

#endif  // SKALD_WEIGHTS_WRITING_GGUF_DRAFT_H_
