// SPDX-License-Identifier: Apache-2.0
//
// Finds the tensors that parameters are made from, whatever a checkpoint calls them and however their rows lie, and
// checks their types and shapes. No parameter is read.

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

namespace skald::internal {

/// Rows of a tensor: the bytes of `view` or, where the rows do not lie one after the other, those that `gather` makes.
struct TensorRows {
  const TensorView* view = nullptr;  ///< null for a tensor that is missing or wrong
  std::function<std::vector<std::byte>()> gather = {};
};

/// Returns the bytes of a part's rows in the order that layers have them, where that is not how they lie; else nothing.
/// `head_dim` is that of the part; 0: nothing in it is rotated.
std::vector<std::byte> MovedRows(const TensorRows& rows, size_t head_dim);

/// Keeps the first complaint. The checkpoint and the names must outlive it, and it the views that it returns.
class TensorFinder {
 public:
  TensorFinder(const Checkpoint& checkpoint, const TensorNames& names);

  const TensorNames& names() const { return names_; }
  const Result<void>& status() const { return status_; }
  uint64_t bytes_total() const { return bytes_total_; }  // of all that was required

  void Complain(ErrorCode code, const std::string& what);

  /// Lets `our_name` be there, to no purpose.
  void AllowUnused(std::optional<size_t> layer, std::string_view our_name);

  /// Lets `our_name` be absent, or be a copy of the tensor `our_original`.
  void AllowCopy(std::string_view our_name, std::string_view our_original);

  /// Complains of tensors that nothing asked for: leaving out a bias or a layer would give wrong numbers without a
  /// word. Those that kOtherParts lists and layers that predict further tokens are passed over.
  void CheckAllUsed();

  /// Returns the tensors that nothing asked for, but for those that can be computed from others.
  std::vector<const TensorView*> LeftOut() const;

  /// Returns the tensor of this name if it is a parameter of this shape and type; else notes why not and returns null.
  enum class Types { kFloats, kFloatsOrGroups, kBytes };
  const TensorView* Require(const std::string& name, std::span<const uint64_t> shape, Types types = Types::kFloats);

  /// The tensor that a part is in, and where in its rows it begins.
  struct Place {
    Spelling spelling;
    size_t rows, begin;  ///< of the tensor, of one expert where those of all are stacked; of the part
  };

  /// Parts of one name lie one after the other, by turns, or where they say.
  template <class Parts, class RowsOf>
  std::vector<Place> PlacesOf(const Parts& parts, std::optional<size_t> layer, RowsOf rows_of) const {
    std::vector<Place> places;
    for (const auto& part : parts) {
      Place place{SpelledName(part.name, layer), 0, 0};
      if constexpr (requires { part.interleaved; }) {
        if (place.spelling.layout.interleaved) {
          place.rows = part.interleaved.rows, place.begin = part.interleaved.begin;
          places.push_back(std::move(place));
          continue;
        }
      }
      const auto is_same = [&](const Place& other) { return other.spelling.name == place.spelling.name; };
      for (const Place& earlier : places) place.begin = is_same(earlier) ? earlier.rows : place.begin;
      place.rows = place.begin + rows_of(part);
      for (Place& earlier : places) earlier.rows = is_same(earlier) ? place.rows : earlier.rows;
      places.push_back(std::move(place));
    }
    return places;
  }

  /// Returns the rows of a part of a matrix, of a tensor that is required; where those of all experts are stacked, one
  /// expert's.
  TensorRows RequireRows(const Part& part, const Place& place, size_t cols);

  /// The same of an array, whose rows are its outermost axis.
  TensorRows RequireArray(const ArrayPart& part, const Place& place);

 private:
  // A tensor that a part is in; where it holds all experts, which of them the part is of.
  struct Holder {
    std::string name;
    std::optional<ExpertIndex> stacked;
  };
  /// Rows of a tensor.
  struct SlicedTensor {
    uint64_t rows;
    TensorView view;
  };

  /// The part of a tensor's name that is that of its layer.
  std::string_view LayerOf(std::string_view tensor) const;

  /// Those that have something to predict a second token with, and nothing that was asked for (DeepSeek-V3,
  /// arXiv:2412.19437, section 2.2).
  std::set<std::string_view> PredictingLayers() const;

  /// GGUF files leave out axes of one element where they are not the first, and divide a vector into its groups, or
  /// join them.
  bool IsOfShape(const TensorView& tensor, std::span<const uint64_t> shape) const;

  /// Whether the first shape is that of a matrix whose rows, one after the other, are the vector of the second.
  static bool IsInGroups(const std::vector<uint64_t>& matrix, const std::vector<uint64_t>& vector);

  static bool IsOfType(const TensorView& tensor, Types types);

  static Holder HolderOf(const Place& place, const std::optional<ExpertIndex>& expert);

  /// Requires a tensor of matrices of `shape`, as many as `holder` says.
  const TensorView* RequireStacked(const Holder& holder, const Place& place, std::vector<uint64_t> shape,
                                   bool may_be_grouped);

  /// The bytes of the matrix of a tensor that `holder` is about.
  static std::span<const std::byte> BytesOf(const TensorView& tensor, const Holder& holder);

  /// Adds a view of what `count` rows are made of, `bytes` of the tensor's.
  TensorView& AddSlice(const TensorView& tensor, size_t count, std::span<const std::byte> bytes);

  /// Returns `count` rows of a tensor, or null for null. Of a tensor that is transposed `cols` is their length, else 0.
  TensorRows Take(const TensorView* tensor, const Holder& holder, const Place& place, size_t count, size_t cols);

  /// The same of `count` rows of `cols` elements that are the columns of `cols` rows of their tensor. Groups of weights
  /// do not outlive that, and become floats.
  TensorRows RequireTurned(const Holder& holder, const Place& place, size_t count, size_t cols);

  /// The same of rows of `cols` weights in MXFP4, which are codes and, in a tensor of its own, scales.
  TensorRows RequireMxfp4(const Holder& holder, const Place& place, size_t count, size_t cols);

  static RowOrder OrderOf(const Place& place, size_t count);

  /// Returns the first spelling of a name that any layer of the checkpoint has, else the first.
  Spelling SpelledName(std::string_view name, std::optional<size_t> layer) const;

  const Checkpoint& checkpoint_;
  const TensorNames& names_;
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
