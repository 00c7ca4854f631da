// SPDX-License-Identifier: Apache-2.0
//
// Finds the tensors that parameters are made from, under any convention of names and layout of rows, and checks their
// types and shapes. Reads no parameter.

#ifndef SKALD_WEIGHTS_TENSOR_FINDER_H_
#define SKALD_WEIGHTS_TENSOR_FINDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/packing/gather_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald::internal {

/// Rows of a tensor: the bytes of `view` or, if the rows are not consecutive, the result of `gather`.
struct TensorRows {
  const TensorView* view = nullptr;  ///< null for a tensor that is missing or wrong
  std::function<std::vector<std::byte>()> gather = {};
  /// QuantisedRows::coded, and which of its rows.
  const QuantisedRows* coded = nullptr;
  RowOrder taken = {};
};

/// The rows of a part that RoPE turns: the first `turned` of each head.
struct TurnedRows {
  size_t head_dim = 0, turned = 0;  ///< 0: none
  bool paired = false;              ///< as neighbours in every file, and not only where its names say so

  explicit TurnedRows(size_t whole_head) : head_dim(whole_head), turned(whole_head) {}
  explicit TurnedRows(const Part& part)
      : head_dim(part.head_dim), turned(part.paired > 0 ? part.paired : part.head_dim), paired(part.paired > 0) {}
};

/// Returns the bytes of a part's rows in the order of layers, if the file's order differs; else nothing.
std::vector<std::byte> MovedRows(const TensorRows& rows, const TurnedRows& turned);

/// Keeps the first complaint. The checkpoint must outlive it; its views are valid as long as it lives.
class TensorFinder {
 public:
  TensorFinder(const Checkpoint& checkpoint, const TensorNames& names);

  const TensorNames& names() const { return names_; }
  const Result<void>& status() const { return status_; }
  uint64_t bytes_total() const { return bytes_total_; }  // of all required tensors

  void Complain(ErrorCode code, const std::string& what);

  /// Permits `our_name` to be present; it is not used. Returns the tensor, or null.
  const TensorView* AllowUnused(std::optional<size_t> layer, std::string_view our_name);

  /// Permits `our_name` to be absent, or a copy of the tensor `our_original`.
  void AllowCopy(std::string_view our_name, std::string_view our_original);

  /// Reports tensors that no parameter needs: leaving out a bias or a layer would silently give wrong results. Skips
  /// those in kOtherParts and layers that predict further tokens.
  void CheckAllUsed();

  /// Returns the tensors that no parameter needs, except those that can be computed from others.
  std::vector<const TensorView*> LeftOut() const;

  /// Returns the tensor of this name if it is a parameter of this shape and type; else records why not and returns
  /// null.
  enum class Types { kFloats, kFloatsOrGroups, kBytes };
  const TensorView* Require(const std::string& name, std::span<const uint64_t> shape, Types types = Types::kFloats);

  /// The tensor with a part, and where in its rows it begins.
  struct Place {
    Spelling spelling;
    size_t rows, begin;  ///< of the tensor (of one expert if all are stacked); of the part
    size_t units = 0;    ///< of the part's axis of rows, where the layout is by units
    size_t expert = 0;   ///< that the part belongs to, or 0
  };

  /// Parts with the same name, of one expert, follow each other, alternate row by row, or are at explicit places.
  template <class Parts, class RowsOf>
  std::vector<Place> PlacesOf(const Parts& parts, std::optional<size_t> layer, RowsOf rows_of) const {
    std::vector<Place> places;
    for (const auto& part : parts) {
      Place place{SpelledName(part.name, layer), 0, 0};
      if (part.expert) place.expert = part.expert->index;
      if constexpr (requires { part.units; })
        place.units = part.units;
      else
        place.units = part.rows.units;
      if constexpr (requires { part.interleaved; }) {
        if (place.spelling.layout.interleaved) {
          place.rows = part.interleaved.rows, place.begin = part.interleaved.begin;
          places.push_back(std::move(place));
          continue;
        }
      }
      const auto is_same = [&](const Place& other) {
        return other.spelling.name == place.spelling.name && other.expert == place.expert;
      };
      for (const Place& earlier : places) place.begin = is_same(earlier) ? earlier.rows : place.begin;
      place.rows = place.begin + rows_of(part);
      for (Place& earlier : places) earlier.rows = is_same(earlier) ? place.rows : earlier.rows;
      places.push_back(std::move(place));
    }
    return places;
  }

  /// Replaces rows by those of `coded`, which must be there.
  void TakeCoded(TensorRows& rows);

  /// Returns the rows of a part of a matrix, whose tensor is required; if all experts are stacked, one expert's.
  TensorRows RequireRows(const Part& part, const Place& place, size_t cols);

  /// The same of an array, whose rows are its outermost axis.
  TensorRows RequireArray(const ArrayPart& part, const Place& place);

 private:
  // The tensor with a part. If it holds all experts, the index of the part's.
  struct Holder {
    std::string name;
    std::optional<ExpertIndex> stacked;
  };
  /// Rows of a tensor.
  struct SlicedTensor {
    uint64_t rows;
    TensorView view;
  };

  /// The part of a tensor's name that identifies its layer.
  std::string_view LayerOf(std::string_view tensor) const;

  /// Layers with tensors for predicting a second token, of which no parameter needs any (DeepSeek-V3, arXiv:2412.19437,
  /// section 2.2).
  std::set<std::string_view> PredictingLayers() const;

  /// GGUF files leave out axes of one element unless they are the first, and split a vector into its groups, or join
  /// them. Elsewhere a vector may be a matrix of one row.
  bool IsOfShape(const TensorView& tensor, std::span<const uint64_t> shape) const;

  /// Whether the first shape is that of a matrix whose rows, one after the other, are the vector of the second.
  static bool IsInGroups(const std::vector<uint64_t>& matrix, const std::vector<uint64_t>& vector);

  static bool IsOfType(const TensorView& tensor, Types types);

  static Holder HolderOf(const Place& place, const std::optional<ExpertIndex>& expert);

  /// The rows of a part as its tensor has them.
  TensorRows RequireStoredRows(const Part& part, const Place& place, size_t cols);

  /// The same rows as floats whose columns are divided by their norms.
  TensorRows WithNormedColumns(const TensorRows& rows, size_t cols);

  /// Requires a tensor of stacked matrices of `shape`; `holder` gives their number.
  const TensorView* RequireStacked(const Holder& holder, const Place& place, std::vector<uint64_t> shape,
                                   bool may_be_grouped);

  /// The bytes of the matrix that `holder` selects in a tensor.
  static std::span<const std::byte> BytesOf(const TensorView& tensor, const Holder& holder);

  /// Adds a view of the source of `count` rows, `bytes` of the tensor's.
  TensorView& AddSlice(const TensorView& tensor, const Holder& holder, size_t count, std::span<const std::byte> bytes);

  /// Returns `count` rows of a tensor, or null for null. For a transposed tensor `cols` is their length, else 0.
  TensorRows Take(const TensorView* tensor, const Holder& holder, const Place& place, size_t count, size_t cols);

  /// The same for `count` rows of `cols` elements that are the columns of `cols` rows of their tensor. Groups of
  /// weights cannot be transposed, so they become floats.
  TensorRows RequireTurned(const Holder& holder, const Place& place, size_t count, size_t cols);

  /// The same for rows of `cols` weights in MXFP4, which are codes and, in a separate tensor, scales.
  TensorRows RequireMxfp4(const Holder& holder, const Place& place, size_t count, size_t cols);

  /// Whether a tensor is a bias of zeros beside quantised rows: AutoGPTQ writes one for every matrix.
  bool IsZeroBias(const TensorView& tensor) const;

  /// The tensor with this name if it represents quantised rows, or null.
  const TensorView* FindQuantised(const std::string& name) const;

  /// The same of a tensor that represents quantised rows.
  TensorRows RequireQuantised(const TensorView& tensor, const Holder& holder, const Place& place, size_t count,
                              size_t cols, bool transposed);

  static RowOrder OrderOf(const Place& place, size_t count);

  /// Returns the first spelling of a name that any layer of the checkpoint has, else the first.
  Spelling SpelledName(std::string_view name, std::optional<size_t> layer) const;

  const Checkpoint& checkpoint_;
  const TensorNames names_;
  std::set<std::string_view> used_;
  std::set<std::string_view> within_layers_;  ///< names of tensors without those of their layers
  std::deque<SlicedTensor> slices_;
  uint64_t bytes_total_ = 0;
  Result<void> status_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/weights/detail/tensor_finder.h"
#endif

#endif  // SKALD_WEIGHTS_TENSOR_FINDER_H_
