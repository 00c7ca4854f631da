// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/altup/streams.h.

#ifndef SKALD_LAYERS_KINDS_ALTUP_DETAIL_STREAMS_H_
#define SKALD_LAYERS_KINDS_ALTUP_DETAIL_STREAMS_H_

#include "skald/layers/kinds/altup/streams.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "skald/base/inline.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/sum_of_lanes.h"
#include "skald/base/threads/executor.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

namespace internal {

SKALD_INLINE void AltUpRouter::ListParameters(Weights& weights, const RmsNorm& norm, const AltUpSizes& sizes,
                                              ParameterList& list) {
  const auto width = static_cast<size_t>(sizes.width);
  norm.ListParameters(weights.norm, "altup.router_norm", width, list);
  list.AddMatrix(weights.router, width, {{"altup.modality_router.weight", sizes.count()}}, DType::kF32);
}

SKALD_INLINE void AltUpRouter::Route(const Weights& weights, const RmsNorm& norm, const AltUpSizes& sizes,
                                     const LayerRun& run, float* normed, float* modalities) {
  const size_t rows = run.rows.size(), width = static_cast<size_t>(sizes.width);
  run.ops.Norm(run.input, rows, width, weights.norm, norm.epsilon, {normed, width});
  run.ops.Scale(normed, rows * width, 1.0f / static_cast<float>(width));
  run.ops.MatMul(weights.router, {normed, width}, rows, {}, {modalities, sizes.count()});
  run.ops.Apply(FactorFunction::kTanh, modalities, rows * sizes.count());
}

// Calls change(row) for all rows, in parallel; each touches `work` elements.
template <class Change>
void ForAltUpRows(const LayerRun& run, size_t work, Change change) {
  ParallelFor(run.ops.executor(), run.rows.size(), work, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) change(row);
  });
}

inline const float* RowAt(Rows rows, size_t row) { return rows.data + row * rows.stride; }

// Returns the root of the mean of the squares of a row, which is `least` at least before the root.
inline float LengthOf(const float* values, size_t size, float least) {
  const float sum = SumOfLanes(size, [values](size_t i) { return values[i] * values[i]; });
  return std::sqrt(std::max(sum / static_cast<float>(size), least));
}

// Makes `values` as long as `like`.
inline void MakeAsLong(const float* like, float* values, size_t size) {
  constexpr float kLeast = 1e-5f;
  const float target = LengthOf(like, size, 0.0f), length = LengthOf(values, size, kLeast);
  for (size_t i = 0; i < size; ++i) values[i] = values[i] * target / length;
}

// Lists matrices of no layer, one for each stream but the residual one.
inline void ListOfStreams(std::vector<Matrix>& matrices, const char* name, const AltUpSizes& sizes,
                          ParameterList& list) {
  const std::optional<size_t> layer = list.layer();
  const auto width = static_cast<size_t>(sizes.width);
  matrices.resize(sizes.count() - 1);
  list.SetLayer(std::nullopt);
  for (size_t i = 0; i < matrices.size(); ++i) {
    list.AddMatrix(matrices[i], width, {{name, width, 0, ExpertIndex{i, matrices.size()}}});
  }
  list.SetLayer(layer);
}

}  // namespace internal

SKALD_INLINE void AltUpEntry::ListParameters(Weights& weights, size_t /*model_dim*/, ParameterList& list) const {
  internal::ListOfStreams(weights.projections, "altup_projections.weight", sizes(), list);
}

SKALD_INLINE void AltUpEntry::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), d = run.model_dim;
  for (size_t i = 1; i < sizes().count(); ++i) {
    run.ops.MatMul(weights.projections[i - 1], run.input, rows, {}, {run.carried.data + i * d, run.carried.stride});
  }
  internal::ForAltUpRows(run, sizes().count() * d, [&](size_t row) {
    float* const carried = run.carried.data + row * run.carried.stride;
    for (size_t i = 1; i < sizes().count(); ++i) {
      internal::MakeAsLong(internal::RowAt(run.input, row), carried + i * d, d);
    }
    std::fill_n(run.output.data + row * run.output.stride, d, 0.0f);
  });
}

SKALD_INLINE void AltUpPrediction::ListParameters(Weights& weights, size_t /*model_dim*/, ParameterList& list) const {
  const size_t count = sizes().count();
  internal::AltUpRouter::ListParameters(weights.router, norm, sizes(), list);
  list.AddMatrix(weights.coefficients, count, {{"altup.prediction_coefs.weight", count * count}}, DType::kF32);
}

SKALD_INLINE auto AltUpPrediction::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  const size_t count = sizes().count();
  return {.normed = rows * model_dim, .modalities = rows * count, .coefficients = rows * count * count};
}

SKALD_INLINE void AltUpPrediction::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), d = run.model_dim, count = sizes().count();
  const auto [normed, modalities, coefficients] = run.scratch.As<Pieces>();
  internal::AltUpRouter::Route(weights.router, norm, sizes(), run, normed, modalities);
  run.ops.MatMul(weights.coefficients, {modalities, count}, rows, {}, {coefficients, count * count});
  internal::ForAltUpRows(run, count * count * d, [&, factors = coefficients](size_t row) {
    float* const carried = run.carried.data + row * run.carried.stride;
    float* const changes = run.output.data + row * run.output.stride;
    const float* const of_row = factors + row * count * count;
    std::copy_n(internal::RowAt(run.input, row), d, carried);
    for (size_t c = 0; c < d; ++c) {
      float old[kMostAltUpStreams];
      for (size_t j = 0; j < count; ++j) old[j] = carried[j * d + c];
      for (size_t i = 0; i < count; ++i) {
        float sum = of_row[i * count] * old[0];
        for (size_t j = 1; j < count; ++j) sum += of_row[i * count + j] * old[j];
        if (i == 0) changes[c] = sum;
        carried[i * d + c] = old[i] + sum;
      }
    }
  });
}

SKALD_INLINE void LaurelResidual::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto between = static_cast<size_t>(rank);
  norm.ListParameters(weights.norm, "input_layernorm", model_dim, list);
  list.AddMatrix(weights.left, model_dim, {{"laurel.linear_left.weight", between}});
  list.AddMatrix(weights.right, between, {{"laurel.linear_right.weight", model_dim}});
  norm.ListParameters(weights.post_norm, "laurel.post_laurel_norm", model_dim, list);
}

SKALD_INLINE auto LaurelResidual::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  return {.normed = rows * model_dim, .between = rows * static_cast<size_t>(rank), .learned = rows * model_dim};
}

SKALD_INLINE void LaurelResidual::Run(const Weights& weights, const LayerRun& run) const {
  constexpr float kRoot = 1.41421356f;
  const size_t rows = run.rows.size(), d = run.model_dim, r = static_cast<size_t>(rank);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows normed = {scratch.normed, d}, between = {scratch.between, r}, learned = {scratch.learned, d};
  run.ops.Norm(run.carried, rows, d, weights.norm, norm.epsilon, normed);
  run.ops.MatMul(weights.left, normed, rows, {}, between);
  run.ops.MatMul(weights.right, between, rows, {}, learned);
  run.ops.Norm(learned, rows, d, weights.post_norm, norm.epsilon, learned);
  internal::ForAltUpRows(run, d, [&](size_t row) {
    const float* const stream = internal::RowAt(run.input, row);
    float* const output = run.output.data + row * run.output.stride;
    for (size_t c = 0; c < d; ++c) {
      const float added = normed.data[row * d + c] + learned.data[row * d + c];
      output[c] = (stream[c] + added) / kRoot - stream[c];
    }
  });
}

SKALD_INLINE void AltUpCorrection::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto of_layer = static_cast<size_t>(per_layer_dim);
  internal::AltUpRouter::ListParameters(weights.router, norm, sizes(), list);
  list.AddMatrix(weights.coefficients, sizes().count(), {{"altup.correction_coefs.weight", sizes().count()}},
                 DType::kF32);
  if (scaled) {
    list.AddVector(weights.scale, {{"altup.correct_output_scale", model_dim}}, {.center = 1.0f});
  } else {
    list.AllowUnused("altup.correct_output_scale");
  }
  list.AddMatrix(weights.gate, model_dim, {{"per_layer_input_gate.weight", of_layer}});
  list.AddMatrix(weights.projection, of_layer, {{"per_layer_projection.weight", model_dim}});
  norm.ListParameters(weights.post_norm, "post_per_layer_input_norm", model_dim, list);
}

SKALD_INLINE auto AltUpCorrection::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  const size_t count = sizes().count();
  return {.normed = rows * model_dim,
          .modalities = rows * count,
          .coefficients = rows * count,
          .gated = rows * static_cast<size_t>(per_layer_dim),
          .added = rows * model_dim};
}

SKALD_INLINE void AltUpCorrection::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), d = run.model_dim, count = sizes().count();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows first = {scratch.normed, d}, gated = {scratch.gated, static_cast<size_t>(per_layer_dim)};
  const Rows added = {scratch.added, d};
  internal::AltUpRouter::Route(weights.router, norm, sizes(), run, scratch.normed, scratch.modalities);
  run.ops.MatMul(weights.coefficients, {scratch.modalities, count}, rows, {}, {scratch.coefficients, count});
  internal::ForAltUpRows(run, count * d, [&](size_t row) {
    float* const carried = run.carried.data + row * run.carried.stride;
    float* const output = run.output.data + row * run.output.stride;
    const float* const stream = internal::RowAt(run.input, row);
    for (size_t c = 0; c < d; ++c) {
      const float innovation = stream[c] - carried[c];
      for (size_t i = 0; i < count; ++i) {
        const float factor = scratch.coefficients[row * count + i] + 1.0f;
        carried[i * d + c] = innovation * factor + carried[i * d + c];
      }
      output[c] = carried[c] - stream[c];
      first.data[row * d + c] = scaled ? carried[c] * weights.scale[c] : carried[c];
    }
  });
  run.ops.MatMul(weights.gate, first, rows, {}, gated);
  run.ops.Activate(activation, gated.data, rows * gated.stride);
  run.ops.Multiply(gated, run.per_layer, rows, gated.stride);
  run.ops.MatMul(weights.projection, gated, rows, {}, added);
  run.ops.Norm(added, rows, d, weights.post_norm, norm.epsilon, added);
  internal::ForAltUpRows(run, count * d, [&](size_t row) {
    for (size_t i = 1; i < count; ++i) {
      float* const stream = run.carried.data + row * run.carried.stride + i * d;
      for (size_t c = 0; c < d; ++c) stream[c] += added.data[row * d + c];
    }
  });
}

SKALD_INLINE void AltUpExit::ListParameters(Weights& weights, size_t /*model_dim*/, ParameterList& list) const {
  internal::ListOfStreams(weights.projections, "altup_unembed_projections.weight", sizes(), list);
}

SKALD_INLINE void AltUpExit::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), d = run.model_dim, count = sizes().count();
  const Rows projected = {run.scratch.As<Pieces>().projected, d};
  run.ops.Copy(run.input, rows, d, run.output);
  for (size_t i = 1; i < count; ++i) {
    run.ops.MatMul(weights.projections[i - 1], {run.carried.data + i * d, run.carried.stride}, rows, {}, projected);
    internal::ForAltUpRows(run, d, [&](size_t row) {
      float* const sum = run.output.data + row * run.output.stride;
      float* const one = projected.data + row * d;
      internal::MakeAsLong(internal::RowAt(run.input, row), one, d);
      for (size_t c = 0; c < d; ++c) sum[c] += one[c];
    });
  }
  internal::ForAltUpRows(run, d, [&](size_t row) {
    float* const sum = run.output.data + row * run.output.stride;
    const float* const stream = internal::RowAt(run.input, row);
    for (size_t c = 0; c < d; ++c) sum[c] = sum[c] / static_cast<float>(count) - stream[c];
  });
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_ALTUP_DETAIL_STREAMS_H_
