// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/tensor_finder.h.

#ifndef SKALD_WEIGHTS_DETAIL_TENSOR_FINDER_H_
#define SKALD_WEIGHTS_DETAIL_TENSOR_FINDER_H_

#include "skald/weights/tensor_finder.h"

#include <algorithm>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/text/message.h"
#include "skald/weights/packing/detail/rope_rows.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/gguf_blocks.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald {

namespace internal {

SKALD_INLINE std::vector<std::byte> MovedRows(const TensorRows& rows, const TurnedRows& turned) {
  const std::vector<std::byte> gathered = rows.gather ? rows.gather() : std::vector<std::byte>();
  const bool are_neighbours = turned.paired || (!rows.gather && rows.view->rope_pairs_adjacent);
  if (!are_neighbours || turned.turned == 0) return gathered;
  const std::span<const std::byte> bytes = rows.gather ? std::span<const std::byte>(gathered) : rows.view->bytes;
  return WithRopePairsApart(bytes, static_cast<size_t>(rows.view->shape[0]), turned.head_dim, turned.turned);
}

SKALD_INLINE TensorFinder::TensorFinder(const Checkpoint& checkpoint, const TensorNames& names)
    : checkpoint_(checkpoint), names_(names) {
  for (const TensorView& tensor : checkpoint.tensors()) within_layers_.insert(names.WithinLayer(tensor.name));
}

SKALD_INLINE void TensorFinder::Complain(ErrorCode code, const std::string& what) {
  if (status_) status_ = Fail(code, Concat({PathText(checkpoint_.path()), ": ", what}));
}

SKALD_INLINE const TensorView* TensorFinder::AllowUnused(std::optional<size_t> layer, std::string_view our_name) {
  const TensorView* const tensor = checkpoint_.Find(SpelledName(our_name, layer).name);
  if (tensor != nullptr) used_.insert(tensor->name);
  return tensor;
}

SKALD_INLINE void TensorFinder::AllowCopy(std::string_view our_name, std::string_view our_original) {
  const std::string name = names_.NameOf(our_name, {}), original = names_.NameOf(our_original, {});
  const TensorView* copy = checkpoint_.Find(name);
  const TensorView* planned = checkpoint_.Find(original);
  if (copy == nullptr || planned == nullptr) return;
  used_.insert(copy->name);
  if (!IsCopyOf(*copy, *planned)) {
    Complain(ErrorCode::kInvalidArgument, Concat({name, ": expected none, or a copy of ", original,
                                                  ", because the Config ties the output head to the embedding"}));
  }
}

SKALD_INLINE void TensorFinder::CheckAllUsed() {
  const std::set<std::string_view> predicting = PredictingLayers();
  for (const TensorView& tensor : checkpoint_.tensors()) {
    const bool is_ours = !IsOfOtherPart(tensor.name) && !IsDerivedTensor(tensor.name);
    if (!is_ours || used_.contains(tensor.name) || predicting.contains(LayerOf(tensor.name))) continue;
    const auto begins = [&](std::string_view part) { return tensor.name.starts_with(part); };
    if (std::ranges::any_of(names_.other_parts, begins)) continue;
    if (IsZeroBias(tensor)) continue;
    Complain(ErrorCode::kInvalidArgument,
             Concat({QuotedName(tensor.name), ": the Config has no place for this tensor, of shape ",
                     ShapeText(tensor.shape)}));
  }
}

SKALD_INLINE bool TensorFinder::IsZeroBias(const TensorView& tensor) const {
  constexpr std::string_view kEnding = ".bias";
  if (!tensor.name.ends_with(kEnding)) return false;
  const std::string_view module = tensor.name.substr(0, tensor.name.size() - kEnding.size());
  return FindQuantised(Concat({module, ".weight"})) != nullptr &&
         std::ranges::all_of(tensor.bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

SKALD_INLINE std::vector<const TensorView*> TensorFinder::LeftOut() const {
  std::vector<const TensorView*> left;
  for (const TensorView& tensor : checkpoint_.tensors()) {
    if (!used_.contains(tensor.name) && !IsDerivedTensor(tensor.name)) left.push_back(&tensor);
  }
  return left;
}

SKALD_INLINE const TensorView* TensorFinder::Require(const std::string& name, std::span<const uint64_t> shape,
                                                     Types types) {
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

SKALD_INLINE void TensorFinder::TakeCoded(TensorRows& rows) {
  const QuantisedRows& coded = *rows.coded;
  SlicedTensor& slice = slices_.emplace_back(SlicedTensor{rows.taken.count, *rows.view});
  slice.view.shape = {&slice.rows, 1};
  slice.view.format = coded.format;
  slice.view.dtype = coded.format == nullptr ? std::optional(coded.dtype) : std::nullopt;
  bytes_total_ -= rows.taken.count * rows.view->quantised->row_bytes();
  bytes_total_ += rows.taken.count * coded.row_bytes();
  const RowOrder order = rows.taken;
  rows = {&slice.view, [&coded, order] { return QuantisedRowsIn(coded, order); }};
}

SKALD_INLINE TensorRows TensorFinder::RequireRows(const Part& part, const Place& place, size_t cols) {
  const TensorRows rows = RequireStoredRows(part, place, cols);
  return part.normed_columns ? WithNormedColumns(rows, cols) : rows;
}

SKALD_INLINE TensorRows TensorFinder::WithNormedColumns(const TensorRows& rows, size_t cols) {
  if (rows.view == nullptr || !status_) return rows;
  const TensorView& stored = *rows.view;
  const auto count = static_cast<size_t>(stored.shape[0]);
  SlicedTensor& slice = slices_.emplace_back(SlicedTensor{count, stored});
  TensorView& view = slice.view;
  view.shape = {&slice.rows, 1};
  view.dtype_name = "F32", view.dtype = DType::kF32, view.format = nullptr, view.factors = {};
  const bool is_plain = stored.quantised == nullptr;
  bytes_total_ -= is_plain ? stored.bytes.size() : count * stored.quantised->row_bytes();
  bytes_total_ += count * cols * sizeof(float);
  return {&view, [rows, cols] {
            const std::vector<std::byte> gathered = rows.gather ? rows.gather() : std::vector<std::byte>();
            const TensorView& source = *rows.view;
            return NormedColumns(
                {rows.gather ? gathered.data() : source.bytes.data(), source.dtype.value_or(DType::kF32),
                 static_cast<size_t>(source.shape[0]), source.format, FactorOf(source)},
                cols);
          }};
}

SKALD_INLINE TensorRows TensorFinder::RequireStoredRows(const Part& part, const Place& place, size_t cols) {
  const Holder holder = HolderOf(place, part.expert);
  const RowLayout& layout = place.spelling.layout;
  if (layout.mxfp4) return RequireMxfp4(holder, place, part.rows, cols);
  const bool transposed = layout.transposed || part.transposed;
  if (const TensorView* const tensor = FindQuantised(holder.name)) {
    return RequireQuantised(*tensor, holder, place, part.rows, cols, transposed);
  }
  if (transposed && layout.interleaved) return RequireTurned(holder, place, part.rows, cols);
  std::vector<uint64_t> shape = {place.rows, cols};
  if (transposed) std::swap(shape[0], shape[1]);
  const TensorView* const tensor = RequireStacked(holder, place, std::move(shape), !transposed);
  return Take(tensor, holder, place, part.rows, transposed ? cols : 0);
}

SKALD_INLINE TensorRows TensorFinder::RequireArray(const ArrayPart& part, const Place& place) {
  const Holder holder = HolderOf(place, part.expert);
  std::vector<uint64_t> shape = part.shape;
  const size_t rows = shape.empty() ? 1 : static_cast<size_t>(shape.front());
  if (!shape.empty()) shape.front() = place.rows;
  if (const TensorView* const tensor = FindQuantised(holder.name); tensor != nullptr && shape.size() == 2) {
    TensorRows all = RequireQuantised(*tensor, holder, place, rows, static_cast<size_t>(shape[1]), false);
    if (!all.view) return all;
    const RowOrder order = OrderOf(place, rows);
    TensorView& view = slices_.back().view;
    view.format = nullptr, view.dtype = DType::kF32;
    return {&view, [tensor, order] { return QuantisedFloatsIn(*tensor->quantised, order); }};
  }
  const TensorView* const tensor = RequireStacked(holder, place, std::move(shape), /*may_be_grouped=*/false);
  return Take(tensor, holder, place, rows, 0);
}

SKALD_INLINE std::string_view TensorFinder::LayerOf(std::string_view tensor) const {
  return tensor.substr(0, tensor.size() - names_.WithinLayer(tensor).size());
}

SKALD_INLINE std::set<std::string_view> TensorFinder::PredictingLayers() const {
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

SKALD_INLINE bool TensorFinder::IsOfShape(const TensorView& tensor, std::span<const uint64_t> shape) const {
  if (std::ranges::equal(tensor.shape, shape)) return true;
  if (checkpoint_.gguf() == nullptr) {
    return shape.size() == 1 && tensor.shape.size() == 2 && tensor.shape[0] == 1 && tensor.shape[1] == shape[0];
  }
  const auto long_axes = [](std::span<const uint64_t> axes) {
    std::vector<uint64_t> result(axes.begin(), axes.end());
    std::erase(result, 1);
    return result;
  };
  const std::vector<uint64_t> found = long_axes(tensor.shape), expected = long_axes(shape);
  return found == expected || IsInGroups(found, expected) || IsInGroups(expected, found);
}

SKALD_INLINE bool TensorFinder::IsInGroups(const std::vector<uint64_t>& matrix, const std::vector<uint64_t>& vector) {
  if (matrix.size() != 2 || vector.size() != 1 || matrix[0] == 0 || vector[0] % matrix[0] != 0) return false;
  return vector[0] / matrix[0] == matrix[1];
}

SKALD_INLINE bool TensorFinder::IsOfType(const TensorView& tensor, Types types) {
  if (types == Types::kBytes) return tensor.dtype_name == "U8";
  return tensor.dtype || (types == Types::kFloatsOrGroups && tensor.format != nullptr);
}

SKALD_INLINE TensorFinder::Holder TensorFinder::HolderOf(const Place& place, const std::optional<ExpertIndex>& expert) {
  Holder holder = {place.spelling.name, {}};
  const size_t number = holder.name.find('#');
  if (expert && number != holder.name.npos) holder.name.replace(number, 1, std::to_string(expert->index));
  if (expert && number == holder.name.npos) holder.stacked = expert;
  return holder;
}

SKALD_INLINE const TensorView* TensorFinder::RequireStacked(const Holder& holder, const Place& place,
                                                            std::vector<uint64_t> shape, bool may_be_grouped) {
  if (holder.stacked && place.spelling.layout.joined) {
    shape.front() *= holder.stacked->count;
  } else if (holder.stacked) {
    shape.insert(shape.begin(), holder.stacked->count);
  }
  return Require(holder.name, shape, may_be_grouped ? Types::kFloatsOrGroups : Types::kFloats);
}

SKALD_INLINE std::span<const std::byte> TensorFinder::BytesOf(const TensorView& tensor, const Holder& holder) {
  const ExpertIndex expert = holder.stacked.value_or(ExpertIndex{0, 1});
  const size_t bytes = tensor.bytes.size() / expert.count;
  return tensor.bytes.subspan(expert.index * bytes, bytes);
}

SKALD_INLINE TensorView& TensorFinder::AddSlice(const TensorView& tensor, const Holder& holder, size_t count,
                                                std::span<const std::byte> bytes) {
  bytes_total_ -= tensor.bytes.size() - bytes.size();
  SlicedTensor& slice = slices_.emplace_back(SlicedTensor{count, tensor});
  slice.view.shape = {&slice.rows, 1};
  slice.view.bytes = bytes;
  const size_t expert = holder.stacked ? holder.stacked->index : 0, of_one = sizeof(float);
  if (tensor.factors.size() > of_one) slice.view.factors = tensor.factors.subspan(expert * of_one, of_one);
  return slice.view;
}

SKALD_INLINE TensorRows TensorFinder::Take(const TensorView* tensor, const Holder& holder, const Place& place,
                                           size_t count, size_t cols) {
  const RowLayout& layout = place.spelling.layout;
  if (tensor == nullptr || !status_) return {tensor};
  const bool has_axis = tensor->shape.empty() || tensor->shape.front() == count;  // GGUF files may leave it out
  const bool is_whole = !holder.stacked && count == place.rows && cols == 0 && has_axis;
  if (is_whole && !layout.pairs_adjacent) return {tensor};
  const std::span<const std::byte> rows = BytesOf(*tensor, holder);
  const size_t row_bytes = rows.size() / place.rows;
  if (layout.by_units && place.units > 1) {
    const size_t units = place.units, begin = place.begin / units, size = count / units;
    TensorView& view = AddSlice(*tensor, holder, count, rows.first(count * row_bytes));
    return {&view, [=] { return GatherUnits(rows, row_bytes, units, begin, size); }};
  }
  const size_t begin = layout.by_turns ? 0 : place.begin * row_bytes;
  TensorView& view = AddSlice(*tensor, holder, count, rows.subspan(begin, count * row_bytes));
  view.rope_pairs_adjacent |= layout.pairs_adjacent;
  const RowOrder order = OrderOf(place, count);
  if (cols != 0) return {&view, [=] { return GatherColumns(rows, cols, row_bytes / cols, order); }};
  if (!layout.by_turns) return {&view};
  return {&view, [=] { return GatherRows(rows, row_bytes, order); }};
}

SKALD_INLINE TensorRows TensorFinder::RequireTurned(const Holder& holder, const Place& place, size_t count,
                                                    size_t cols) {
  const TensorView* const tensor = RequireStacked(holder, place, {place.rows, count}, /*may_be_grouped=*/true);
  if (tensor == nullptr || !status_) return {tensor};
  const std::span<const std::byte> all = BytesOf(*tensor, holder);
  const size_t row_bytes = all.size() / place.rows;
  const auto rows = all.subspan(place.begin * row_bytes, cols * row_bytes);
  TensorView& view = AddSlice(*tensor, holder, count, rows);
  const GroupFormat* const format = std::exchange(view.format, nullptr);
  const RowOrder order = {0, 1, count};
  if (format == nullptr) return {&view, [=] { return GatherColumns(rows, cols, row_bytes / count, order); }};
  view.dtype = DType::kF32;
  const float factor = FactorOf(view);
  return {&view, [=] { return GatherColumns(DecodedRows(rows, *format, cols, factor), cols, sizeof(float), order); }};
}

SKALD_INLINE TensorRows TensorFinder::RequireMxfp4(const Holder& holder, const Place& place, size_t count,
                                                   size_t cols) {
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

SKALD_INLINE const TensorView* TensorFinder::FindQuantised(const std::string& name) const {
  const TensorView* const tensor = checkpoint_.Find(name);
  return tensor == nullptr || tensor->quantised == nullptr ? nullptr : tensor;
}

SKALD_INLINE TensorRows TensorFinder::RequireQuantised(const TensorView& tensor, const Holder& holder,
                                                       const Place& place, size_t count, size_t cols, bool transposed) {
  const QuantisedRows& rows = *tensor.quantised;
  const bool turned = transposed && place.spelling.layout.interleaved;  // columns of the part's rows
  const ExpertIndex expert = holder.stacked.value_or(ExpertIndex{0, 1});
  const size_t lines_of_one = transposed && !turned ? cols : place.rows;
  const uint64_t shape[] = {lines_of_one * expert.count, !transposed ? cols : turned ? count : place.rows};
  Require(std::string(tensor.name), shape, Types::kFloatsOrGroups);
  if (!status_) return {};
  SlicedTensor& slice = slices_.emplace_back(SlicedTensor{count, tensor});
  slice.view.shape = {&slice.rows, 1};
  RowOrder order = turned ? RowOrder{0, 1, count} : OrderOf(place, count);
  const QuantisedRows* const read = !transposed ? &rows : turned ? nullptr : rows.transposed.get();
  if (read != nullptr) {
    order.first += expert.index * place.rows;
    bytes_total_ += count * read->row_bytes() - tensor.bytes.size();
    if (transposed) slice.view.format = read->format, slice.view.dtype.reset();
    return {&slice.view, [read, order] { return QuantisedRowsIn(*read, order); }, read->coded.get(), order};
  }
  slice.view.format = nullptr, slice.view.dtype = DType::kF32;
  bytes_total_ += count * cols * sizeof(float) - tensor.bytes.size();
  const RowOrder lines = {expert.index * lines_of_one + (turned ? place.begin : 0), 1, cols};
  return {&slice.view, [&rows, lines, cols, order] {
            return GatherColumns(QuantisedFloatsIn(rows, lines), cols, sizeof(float), order);
          }};
}

SKALD_INLINE RowOrder TensorFinder::OrderOf(const Place& place, size_t count) {
  if (place.spelling.layout.by_turns) return {place.begin / count, place.rows / count, count};
  return {place.begin, 1, count};
}

SKALD_INLINE Spelling TensorFinder::SpelledName(std::string_view name, std::optional<size_t> layer) const {
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

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_TENSOR_FINDER_H_
