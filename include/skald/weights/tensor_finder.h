// SPDX-License-Identifier: Apache-2.0
//
// Finds the tensors that parameters are made from, whatever a checkpoint calls them and however their rows lie, and
// checks their types and shapes. No parameter is read.

#ifndef SKALD_WEIGHTS_TENSOR_FINDER_H_
#define SKALD_WEIGHTS_TENSOR_FINDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/packing/gather_rows.h"
#include "skald/weights/packing/rope_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald::internal {

// Rows of a tensor: the bytes of `view` or, where the rows do not lie one after the other, those that `gather` makes.
struct TensorRows {
  const TensorView* view = nullptr;  // null for a tensor that is missing or wrong
  std::function<std::vector<std::byte>()> gather = {};
};

// Returns the bytes of a part's rows in the order that layers have them, where that is not how they lie; else nothing.
// `head_dim` is that of the part; 0: nothing in it is rotated.
inline std::vector<std::byte> MovedRows(const TensorRows& rows, size_t head_dim) {
  if (rows.gather) return rows.gather();
  if (!rows.view->rope_pairs_adjacent || head_dim == 0) return {};
  return WithRopePairsApart(rows.view->bytes, static_cast<size_t>(rows.view->shape[0]), head_dim);
}

// Keeps the first complaint. The checkpoint and the names must outlive it, and it the views that it returns.
class TensorFinder {
 public:
  TensorFinder(const Checkpoint& checkpoint, const TensorNames& names) : checkpoint_(checkpoint), names_(names) {
    for (const TensorView& tensor : checkpoint.tensors()) within_layers_.insert(names.WithinLayer(tensor.name));
  }

  const TensorNames& names() const { return names_; }
  const Result<void>& status() const { return status_; }
  uint64_t bytes_total() const { return bytes_total_; }  // of all that was required

  void Complain(ErrorCode code, const std::string& what) {
    if (status_) status_ = Fail(code, Concat({checkpoint_.path().string(), ": ", what}));
  }

  // Lets `our_name` be there, to no purpose.
  void AllowUnused(std::optional<size_t> layer, std::string_view our_name) {
    const TensorView* const tensor = checkpoint_.Find(SpelledName(our_name, layer).name);
    if (tensor != nullptr) used_.insert(tensor->name);
  }

  // Lets `our_name` be absent, or be a copy of the tensor `our_original`.
  void AllowCopy(std::string_view our_name, std::string_view our_original) {
    const std::string name = names_.NameOf(our_name, {}), original = names_.NameOf(our_original, {});
    const TensorView* copy = checkpoint_.Find(name);
    const TensorView* planned = checkpoint_.Find(original);
    if (copy == nullptr || planned == nullptr) return;
    used_.insert(copy->name);
    const bool same = copy->dtype_name == planned->dtype_name && std::ranges::equal(copy->shape, planned->shape) &&
                      copy->bytes.size() == planned->bytes.size() &&
                      std::memcmp(copy->bytes.data(), planned->bytes.data(), copy->bytes.size()) == 0;
    if (!same) {
      Complain(ErrorCode::kInvalidArgument, Concat({name, ": expected none, or a copy of ", original,
                                                    ", because the Config ties the output head to the embedding"}));
    }
  }

  // Complains of tensors that nothing asked for: leaving out a bias or a layer would give wrong numbers without a word.
  // Those that kOtherParts lists and layers that predict further tokens are passed over.
  void CheckAllUsed() {
    const std::set<std::string_view> predicting = PredictingLayers();
    for (const TensorView& tensor : checkpoint_.tensors()) {
      const bool is_ours = !IsOfOtherPart(tensor.name) && !IsDerivedTensor(tensor.name);
      if (!is_ours || used_.contains(tensor.name) || predicting.contains(LayerOf(tensor.name))) continue;
      Complain(ErrorCode::kInvalidArgument,
               Concat({QuotedName(tensor.name), ": the Config has no place for this tensor, of shape ",
                       ShapeText(tensor.shape)}));
    }
  }

  // Returns the tensors that nothing asked for, but for those that can be computed from others.
  std::vector<const TensorView*> LeftOut() const {
    std::vector<const TensorView*> left;
    for (const TensorView& tensor : checkpoint_.tensors()) {
      if (!used_.contains(tensor.name) && !IsDerivedTensor(tensor.name)) left.push_back(&tensor);
    }
    return left;
  }

  // Returns the tensor of this name if it is a parameter of this shape and type; else notes why not and returns null.
  enum class Types { kFloats, kFloatsOrGroups, kBytes };
  const TensorView* Require(const std::string& name, std::span<const uint64_t> shape, Types types = Types::kFloats) {
    const TensorView* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      Complain(ErrorCode::kNotFound, Concat({name, ": expected a tensor of shape ", ShapeText(shape), ", found none"}));
      return nullptr;
    }
    used_.insert(tensor->name);
    if (!IsOfShape(*tensor, shape)) {
      Complain(ErrorCode::kInvalidArgument,
               Concat({name, ": expected shape ", ShapeText(shape), ", found ", ShapeText(tensor->shape)}));
    } else if (!IsOfType(*tensor, types)) {
      const bool may_be_grouped = types == Types::kFloatsOrGroups && checkpoint_.gguf() != nullptr;
      Complain(ErrorCode::kUnsupported,
               Concat({name, types == Types::kBytes ? ": expected U8" : ": expected F32, F16 or BF16",
                       may_be_grouped ? " or a quantised type that Skald reads" : "", ", found ",
                       QuotedName(tensor->dtype_name)}));
    }
    bytes_total_ += tensor->bytes.size();
    return tensor;
  }

  // The tensor that a part is in, and where in its rows it begins.
  struct Place {
    Spelling spelling;
    size_t rows, begin;  // of the tensor, of one expert where those of all are stacked; of the part
  };

  // Parts of one name lie one after the other, by turns, or where they say.
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

  // Returns the rows of a part of a matrix, of a tensor that is required; where those of all experts are stacked, one
  // expert's.
  TensorRows RequireRows(const Part& part, const Place& place, size_t cols) {
    const Holder holder = HolderOf(place, part.expert);
    const RowLayout& layout = place.spelling.layout;
    if (layout.mxfp4) return RequireMxfp4(holder, place, part.rows, cols);
    const bool transposed = layout.transposed || part.transposed;
    if (transposed && layout.interleaved) return RequireTurned(holder, place, part.rows, cols);
    std::vector<uint64_t> shape = {place.rows, cols};
    if (transposed) std::swap(shape[0], shape[1]);
    const TensorView* const tensor = RequireStacked(holder, place, std::move(shape), !transposed);
    return Take(tensor, holder, place, part.rows, transposed ? cols : 0);
  }

  // The same of an array, whose rows are its outermost axis.
  TensorRows RequireArray(const ArrayPart& part, const Place& place) {
    const Holder holder = HolderOf(place, part.expert);
    std::vector<uint64_t> shape = part.shape;
    const size_t rows = shape.empty() ? 1 : static_cast<size_t>(shape.front());
    if (!shape.empty()) shape.front() = place.rows;
    const TensorView* const tensor = RequireStacked(holder, place, std::move(shape), /*may_be_grouped=*/false);
    return Take(tensor, holder, place, rows, 0);
  }

 private:
  // A tensor that a part is in; where it holds all experts, which of them the part is of.
  struct Holder {
    std::string name;
    std::optional<ExpertIndex> stacked;
  };
  // Rows of a tensor.
  struct SlicedTensor {
    uint64_t rows;
    TensorView view;
  };

  // The part of a tensor's name that is that of its layer.
  std::string_view LayerOf(std::string_view tensor) const {
    return tensor.substr(0, tensor.size() - names_.WithinLayer(tensor).size());
  }

  // Those that have something to predict a second token with, and nothing that was asked for (DeepSeek-V3,
  // arXiv:2412.19437, section 2.2).
  std::set<std::string_view> PredictingLayers() const {
    std::set<std::string_view> layers;
    for (const TensorView& tensor : checkpoint_.tensors()) {
      const std::string_view name = names_.WithinLayer(tensor.name);
      if (std::ranges::any_of(kPredictionParts, [&](std::string_view part) { return name.starts_with(part); })) {
        layers.insert(LayerOf(tensor.name));
      }
    }
    for (const std::string_view name : used_) layers.erase(LayerOf(name));
    return layers;
  }

  // GGUF files leave out axes of one element where they are not the first, and divide a vector into its groups, or
  // join them.
  bool IsOfShape(const TensorView& tensor, std::span<const uint64_t> shape) const {
    if (std::ranges::equal(tensor.shape, shape)) return true;
    if (checkpoint_.gguf() == nullptr) return false;
    const auto long_axes = [](std::span<const uint64_t> axes) {
      std::vector<uint64_t> result(axes.begin(), axes.end());
      std::erase(result, 1);
      return result;
    };
    const std::vector<uint64_t> found = long_axes(tensor.shape), expected = long_axes(shape);
    return found == expected || IsInGroups(found, expected) || IsInGroups(expected, found);
  }

  // Whether the first shape is that of a matrix whose rows, one after the other, are the vector of the second.
  static bool IsInGroups(const std::vector<uint64_t>& matrix, const std::vector<uint64_t>& vector) {
    if (matrix.size() != 2 || vector.size() != 1 || matrix[0] == 0 || vector[0] % matrix[0] != 0) return false;
    return vector[0] / matrix[0] == matrix[1];
  }

  static bool IsOfType(const TensorView& tensor, Types types) {
    if (types == Types::kBytes) return tensor.dtype_name == "U8";
    return tensor.dtype || (types == Types::kFloatsOrGroups && tensor.format != nullptr);
  }

  static Holder HolderOf(const Place& place, const std::optional<ExpertIndex>& expert) {
    Holder holder = {place.spelling.name, {}};
    const size_t number = holder.name.find('#');
    if (expert && number != holder.name.npos) holder.name.replace(number, 1, std::to_string(expert->index));
    if (expert && number == holder.name.npos) holder.stacked = expert;
    return holder;
  }

  // Requires a tensor of matrices of `shape`, as many as `holder` says.
  const TensorView* RequireStacked(const Holder& holder, const Place& place, std::vector<uint64_t> shape,
                                   bool may_be_grouped) {
    if (holder.stacked && place.spelling.layout.joined) {
      shape.front() *= holder.stacked->count;
    } else if (holder.stacked) {
      shape.insert(shape.begin(), holder.stacked->count);
    }
    return Require(holder.name, shape, may_be_grouped ? Types::kFloatsOrGroups : Types::kFloats);
  }

  // The bytes of the matrix of a tensor that `holder` is about.
  static std::span<const std::byte> BytesOf(const TensorView& tensor, const Holder& holder) {
    const ExpertIndex expert = holder.stacked.value_or(ExpertIndex{0, 1});
    const size_t bytes = tensor.bytes.size() / expert.count;
    return tensor.bytes.subspan(expert.index * bytes, bytes);
  }

  // Adds a view of what `count` rows are made of, `bytes` of the tensor's.
  TensorView& AddSlice(const TensorView& tensor, size_t count, std::span<const std::byte> bytes) {
    bytes_total_ -= tensor.bytes.size() - bytes.size();
    SlicedTensor& slice = slices_.emplace_back(SlicedTensor{count, tensor});
    slice.view.shape = {&slice.rows, 1};
    slice.view.bytes = bytes;
    return slice.view;
  }

  // Returns `count` rows of a tensor, or null for null. Of a tensor that is transposed `cols` is their length, else 0.
  TensorRows Take(const TensorView* tensor, const Holder& holder, const Place& place, size_t count, size_t cols) {
    const RowLayout& layout = place.spelling.layout;
    if (tensor == nullptr || !status_) return {tensor};
    const bool has_axis = tensor->shape.empty() || tensor->shape.front() == count;  // GGUF files may leave it out
    if (!holder.stacked && count == place.rows && cols == 0 && has_axis) return {tensor};
    const std::span<const std::byte> rows = BytesOf(*tensor, holder);
    const size_t row_bytes = rows.size() / place.rows;
    const size_t begin = layout.by_turns ? 0 : place.begin * row_bytes;
    TensorView& view = AddSlice(*tensor, count, rows.subspan(begin, count * row_bytes));
    view.rope_pairs_adjacent |= layout.pairs_adjacent;
    const RowOrder order = OrderOf(place, count);
    if (cols != 0) return {&view, [=] { return GatherColumns(rows, cols, row_bytes / cols, order); }};
    if (!layout.by_turns) return {&view};
    return {&view, [=] { return GatherRows(rows, row_bytes, order); }};
  }

  // The same of `count` rows of `cols` elements that are the columns of `cols` rows of their tensor. Groups of weights
  // do not outlive that, and become floats.
  TensorRows RequireTurned(const Holder& holder, const Place& place, size_t count, size_t cols) {
    const TensorView* const tensor = RequireStacked(holder, place, {place.rows, count}, /*may_be_grouped=*/true);
    if (tensor == nullptr || !status_) return {tensor};
    const std::span<const std::byte> all = BytesOf(*tensor, holder);
    const size_t row_bytes = all.size() / place.rows;
    const auto rows = all.subspan(place.begin * row_bytes, cols * row_bytes);
    TensorView& view = AddSlice(*tensor, count, rows);
    const GroupFormat* const format = std::exchange(view.format, nullptr);
    const RowOrder order = {0, 1, count};
    if (format == nullptr) return {&view, [=] { return GatherColumns(rows, cols, row_bytes / count, order); }};
    view.dtype = DType::kF32;
    return {&view, [=] { return GatherColumns(DecodedRows(rows, *format, cols), cols, sizeof(float), order); }};
  }

  // The same of rows of `cols` weights in MXFP4, which are codes and, in a tensor of its own, scales.
  TensorRows RequireMxfp4(const Holder& holder, const Place& place, size_t count, size_t cols) {
    static constexpr size_t kWeights = 32, kCodeBytes = 16;
    static constexpr std::string_view kCodes = "blocks", kScales = "scales";
    if (cols % kWeights != 0) {
      Complain(
          ErrorCode::kUnsupported,
          Concat({holder.name, ": expected rows of a multiple of 32 weights, the Config has ", std::to_string(cols)}));
    }
    const size_t experts = holder.stacked ? holder.stacked->count : 1, blocks = cols / kWeights;
    const size_t expert = holder.stacked ? holder.stacked->index : 0;
    std::string name_of_scales = holder.name;
    name_of_scales.replace(name_of_scales.size() - kCodes.size(), kCodes.size(), kScales);
    const uint64_t shape[] = {experts, place.rows, blocks, kCodeBytes};
    const TensorView* const codes = Require(holder.name, shape, Types::kBytes);
    const TensorView* const scales = Require(name_of_scales, std::span(shape).first(3), Types::kBytes);
    if (codes == nullptr || scales == nullptr || !status_) return {};
    const size_t scale_bytes = place.rows * blocks, code_bytes = scale_bytes * kCodeBytes;
    const auto codes_here = codes->bytes.subspan(expert * code_bytes, code_bytes);
    const auto scales_here = scales->bytes.subspan(expert * scale_bytes, scale_bytes);
    bytes_total_ -= codes->bytes.size() + scales->bytes.size() - count * blocks * (kCodeBytes + 1);
    SlicedTensor& slice = slices_.emplace_back(SlicedTensor{count, *codes});
    slice.view.shape = {&slice.rows, 1};
    slice.view.format = FindGroupFormat("MXFP4");
    const RowOrder order = OrderOf(place, count);
    return {&slice.view, [=] { return GatherMxfp4(codes_here, scales_here, blocks, order); }};
  }

  static RowOrder OrderOf(const Place& place, size_t count) {
    if (place.spelling.layout.by_turns) return {place.begin / count, place.rows / count, count};
    return {place.begin, 1, count};
  }

  // Returns the first spelling of a name that any layer of the checkpoint has, else the first.
  Spelling SpelledName(std::string_view name, std::optional<size_t> layer) const {
    if (!layer) return {names_.NameOf(name, layer)};
    const std::vector<Spelling> spellings = names_.SpellingsOf(name);
    const auto is_there = [&](const Spelling& spelling) {
      std::string found = spelling.name;
      if (const size_t number = found.find('#'); number != found.npos) found.replace(number, 1, "0");
      return within_layers_.contains(found);
    };
    const auto found = std::ranges::find_if(spellings, is_there);
    Spelling spelling = found == spellings.end() ? spellings.front() : *found;
    spelling.name = names_.OfLayer(*layer, spelling.name);
    return spelling;
  }

  const Checkpoint& checkpoint_;
  const TensorNames& names_;
  std::set<std::string_view> used_;
  std::set<std::string_view> within_layers_;  // names of tensors without those of their layers
  std::deque<SlicedTensor> slices_;
  uint64_t bytes_total_ = 0;
  Result<void> status_;
};

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_TENSOR_FINDER_H_
