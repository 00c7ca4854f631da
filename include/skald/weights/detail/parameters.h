// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/parameters.h.

#ifndef SKALD_WEIGHTS_DETAIL_PARAMETERS_H_
#define SKALD_WEIGHTS_DETAIL_PARAMETERS_H_

#include "skald/weights/parameters.h"

#include <algorithm>
#include <cstring>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/weights/packing/detail/rope_rows.h"
#include "skald/weights/packing/recurrent_transforms.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

SKALD_INLINE size_t MatrixParameter::rows() const {
  size_t sum = 0;
  for (const Part& part : parts) sum += part.rows;
  return sum;
}

SKALD_INLINE size_t VectorParameter::size() const {
  size_t sum = 0;
  for (const ArrayPart& part : parts) {
    size_t product = 1;
    for (const uint64_t axis : part.shape) product *= static_cast<size_t>(axis);
    sum += product;
  }
  return sum;
}

SKALD_INLINE void ParameterList::AddMatrix(Matrix& target, Axis cols, std::vector<Part> parts,
                                           std::vector<Axis> row_axes) {
  Add(MatrixParameter{&target, cols, std::move(parts), {}, std::move(row_axes)});
}

SKALD_INLINE void ParameterList::AddEmbedding(Matrix& target, Axis cols, std::vector<Part> parts) {
  Add(MatrixParameter{&target, cols, std::move(parts), {}, {}, /*looked_up=*/true});
}

SKALD_INLINE void ParameterList::AddMatrix(Matrix& target, Axis cols, std::vector<Part> parts, DType dtype) {
  Add(MatrixParameter{&target, cols, std::move(parts), dtype});
}

SKALD_INLINE void ParameterList::AddBlocks(std::vector<Matrix>& targets, Axis count, size_t cols,
                                           std::vector<Part> parts) {
  const PartitionedRange here = Partition(count, share_);
  targets.resize(parts.size() * here.size());
  Add(BlocksParameter{&targets, count, cols, std::move(parts), here});
}

SKALD_INLINE void ParameterList::AddArray(std::vector<float>& target, std::vector<ArrayPart> parts, RandomRange random,
                                          Conversion convert, std::vector<Axis> axes) {
  Add(VectorParameter{&target, std::move(parts), random, {}, std::move(convert), std::move(axes)});
}

namespace internal {

/// Moves what RoPE turns as neighbours in each head apart, as the rows of matrices are moved.
inline void MovePairsApart(const std::vector<Part>& parts, std::vector<float>& values) {
  size_t begin = 0;
  for (const Part& part : parts) {
    const auto here = std::as_bytes(std::span(values).subspan(begin, part.rows));
    begin += part.rows;
    if (part.paired == 0) continue;
    const std::vector<std::byte> moved = WithRopePairsApart(here, part.rows, part.head_dim, part.paired);
    std::memcpy(values.data() + begin - part.rows, moved.data(), moved.size());
  }
}

}  // namespace internal

SKALD_INLINE void ParameterList::AddVector(std::vector<float>& target, const std::vector<Part>& parts,
                                           RandomRange random, std::vector<Axis> axes) {
  std::vector<ArrayPart> arrays;
  const bool has_axes = !axes.empty();
  for (const Part& part : parts) {
    arrays.push_back({part.name, {part.rows}, part.expert, part.rows.units, part.head_dim});
    if (!has_axes) axes.push_back(part.rows);
  }
  Conversion convert;
  if (std::ranges::any_of(parts, [](const Part& part) { return part.paired > 0; })) {
    convert = [parts](std::vector<float>& values) { internal::MovePairsApart(parts, values); };
  }
  AddArray(target, std::move(arrays), random, std::move(convert), std::move(axes));
}

SKALD_INLINE void ParameterList::AddNorm(std::vector<float>& target, std::string_view name, Axis size, float offset) {
  AddVector(target, {{Concat({name, ".weight"}), size}}, {.center = 1.0f});
  if (offset == 0.0f) return;
  MayBeStored([offset](std::vector<float>& values) {
    for (float& value : values) value += offset;
  });
}

SKALD_INLINE void ParameterList::AddDecay(std::vector<float>& target, std::string name, Axis size, RandomRange random,
                                          std::vector<uint64_t> shape) {
  if (shape.empty())
    AddVector(target, {{std::move(name), size}}, random);
  else
    AddArray(target, {{std::move(name), std::move(shape)}}, random, {}, {size});
  MayBeStored(internal::DecayFromLogarithm);
}

SKALD_INLINE void ParameterList::AddDecays(std::vector<float>& target, std::string name, Axis rows, size_t cols,
                                           RandomRange random) {
  AddArray(target, {{std::move(name), {rows, cols}}}, random,
           [size = rows.size, cols](std::vector<float>& values) { internal::Transpose(values, size, cols); },
           {rows.Times(cols)});
  MayBeStored(internal::DecayFromLogarithm);
}

template <class Value>
void ParameterList::Add(Value value) {
  Parameter& parameter = parameters_.emplace_back();
  parameter.layer = layer_;
  parameter.value = std::move(value);
}

SKALD_INLINE void ParameterList::MayBeStored(Conversion convert) {
  std::get<VectorParameter>(parameters_.back().value).stored = std::move(convert);
}

SKALD_INLINE size_t MemoryBytes(const ParameterList& list) {
  size_t bytes = 0;
  ForEachArray(
      list, [&](const Matrix& matrix, size_t, size_t) { bytes += matrix.data.size(); },
      [&](const std::vector<float>& vector, size_t) { bytes += vector.size() * sizeof(float); });
  return bytes;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_PARAMETERS_H_
