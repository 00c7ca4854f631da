// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/multiplications.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_MULTIPLICATIONS_H_
#define SKALD_LAYERS_RUN_DETAIL_MULTIPLICATIONS_H_

#include "skald/layers/run/multiplications.h"

#include "skald/base/aligned_buffer.h"
#include "skald/base/highway.h"
#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/kernels/kernels.h"
#include "skald/weights/types/column_inputs.h"

namespace skald {

SKALD_INLINE size_t PartialSumsSize(const Matrix& weights, size_t rows) {
  return IsGrouped(weights.dtype) || IsFloatCoded(weights.dtype)
             ? 0
             : PartialSumsSize(rows, weights.rows, weights.padded_cols);
}

SKALD_INLINE void ReserveMatMul(const Matrix& weights, size_t rows, MatMulScratch& scratch) {
  Reserve(scratch.prepared, PreparedBytes(weights.dtype, rows, weights.padded_cols));
  if (weights.changes_inputs()) {
    Reserve(scratch.moved, std::max(rows, Multiplications::kMostRowsTogether) * weights.cols);
  }
  Reserve(scratch.partial_sums, PartialSumsSize(weights, rows));
  ReserveGathers(weights, rows, scratch.gathers);
}

SKALD_INLINE void ReserveBlockMatMul(const std::vector<Matrix>& blocks, size_t cols, size_t rows,
                                     MatMulScratch& scratch) {
  const Matrix& one = blocks.front();
  Reserve(scratch.prepared, cols / one.cols * PreparedBytes(one.dtype, rows, one.padded_cols));
  Reserve(scratch.partial_sums, blocks.size() * PartialSumsSize(one, rows));
}

namespace internal {

// Writes what columns multiply of a row.
inline void TakeInputs(const ColumnInputs& inputs, const float* from, size_t cols, float* to) {
  if (inputs.order.empty()) {
    std::copy_n(from, cols, to);
  } else {
    for (size_t k = 0; k < cols; ++k) to[k] = from[inputs.order[k]];
  }
  for (size_t k = 0; k < inputs.factors.size(); ++k) to[k] *= inputs.factors[k];
}

}  // namespace internal

SKALD_INLINE Multiplications::Multiplications(const ExecutorRef& executor, MatMulScratch& scratch,
                                              std::span<const WeightKernels> kernels, const AdaptedRows* adapted,
                                              const CommunicatorRef* ranks, const MatrixObserver* observer)
    : executor_(executor),
      adapted_(adapted),
      observer_(observer != nullptr && *observer ? observer : nullptr),
      scratch_(scratch),
      kernels_(kernels),
      gathers_(ranks, scratch.gathers, executor) {}

SKALD_INLINE void Multiplications::MatMul(const Matrix& weights, Rows input, size_t rows,
                                          const std::vector<float>& bias, Rows output) {
  const bool is_adapted = adapted_ != nullptr && adapted_->Change(weights);  // by floats
  if (weights.gathers_inputs() && RankGathers::TravelPrepared(weights) && !is_adapted) {
    return MultiplyAll(weights, GatherPrepared(weights, input, rows), {}, rows, bias, output);
  }
  MatMulWhole(weights, WholeRows(weights, input, rows), rows, bias, output);
}

SKALD_INLINE void Multiplications::MatMulWhole(const Matrix& weights, Rows input, size_t rows,
                                               const std::vector<float>& bias, Rows output) {
  MultiplyAll(weights, PrepareRows(weights, input, rows), input, rows, bias, output);
}

SKALD_INLINE void Multiplications::MatMulEach(std::span<const RowsOfMatrix> parts, Rows input, Rows output,
                                              std::optional<Activation> gate, float* memory) {
  const Matrix& shape = *parts.front().weights;
  const size_t all_rows = parts.back().row_end;
  const auto travel_prepared = [](const RowsOfMatrix& part) { return RankGathers::TravelPrepared(*part.weights); };
  const bool gathers = shape.gathers_inputs(),
             gathers_prepared = gathers && std::ranges::all_of(parts, travel_prepared);
  if (gathers_prepared) {
    ExchangePrepared(shape, input, all_rows);
  } else if (gathers) {
    input = gathers_.Inputs(shape, input, all_rows);
  }
  const Rows here = shape.gathers_outputs() ? Rows{gathers_.OwnOutputs(shape, all_rows), shape.rows} : output;
  for (const RowsOfMatrix& part : parts) {
    Show(*part.weights, {input.data + part.row_begin * input.stride, input.stride}, part.rows());
  }
  std::byte* prepared[kMostTogether];
  size_t rows[kMostTogether];
  auto* free = reinterpret_cast<std::byte*>(memory);
  for (size_t i = 0; i < parts.size(); ++i) {
    prepared[i] = free, rows[i] = parts[i].rows();
    free += PreparedBytes(parts[i].weights->dtype, rows[i], parts[i].weights->padded_cols);
  }
  ParallelFor(executor_, parts.size(), all_rows * shape.cols / parts.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (gathers_prepared) {
        PlacePrepared(shape, parts[i].row_begin, 0, rows[i], rows[i], prepared[i]);
        continue;
      }
      const Rows own = {input.data + parts[i].row_begin * input.stride, input.stride};
      Prepare(*parts[i].weights, own, rows[i], 0, rows[i], parts[i].row_begin, prepared[i]);
    }
  });
  if (shape.rows > 0) MultiplyEach(parts, {prepared, parts.size()}, {rows, parts.size()}, gate, here);
  if (shape.gathers_outputs()) gathers_.Outputs(shape, all_rows, output);
}

SKALD_INLINE void Multiplications::BlockMatMul(const std::vector<Matrix>& blocks, Rows input, size_t cols, size_t rows,
                                               const std::vector<float>& bias, Rows output, size_t step) {
  const size_t n = blocks.front().rows, k = blocks.front().cols, padded_k = blocks.front().padded_cols;
  const size_t parts = cols / k, panels = blocks.front().NumPanels();
  const WeightKernels& kernels = KernelsFor(blocks.front());
  const size_t part_bytes = PreparedBytes(kernels.type, rows, padded_k);
  const size_t partial_size = PartialSumsSize(blocks.front(), rows);
  const auto prepared = [&](size_t part) { return scratch_.prepared.data() + part * part_bytes; };
  for (size_t block = 0; block < blocks.size(); ++block) {
    Show(blocks[block], {input.data + block % parts * k, input.stride}, rows);
  }
  ParallelFor(executor_, parts, rows * k, [&](size_t begin, size_t end) {
    for (size_t part = begin; part < end; ++part) {
      kernels.prepare({.input = input.data + part * k,
                       .input_stride = input.stride,
                       .output = prepared(part),
                       .rows = rows,
                       .cols = k,
                       .row_begin = 0,
                       .row_end = rows});
    }
  });
  ParallelFor(executor_, blocks.size(), rows * n * padded_k, [&](size_t begin, size_t end) {
    for (size_t block = begin; block < end; ++block) {
      kernels.mat_mul({.input = prepared(block % parts),
                       .weights = blocks[block].bytes(),
                       .bias = bias.empty() ? nullptr : bias.data() + block * n,
                       .output = output.data + block * step,
                       .output_stride = output.stride,
                       .rows = rows,
                       .n = n,
                       .padded_k = padded_k,
                       .row_begin = 0,
                       .row_end = rows,
                       .panel_begin = 0,
                       .panel_end = panels,
                       .partial_sums = scratch_.partial_sums.data() + block * partial_size});
    }
  });
}

SKALD_INLINE void Multiplications::Embed(const Matrix& embedding, std::span<const int32_t> tokens, float scale,
                                         Rows output) {
  if (embedding.division != nullptr) {
    return gathers_.Embeddings(embedding, tokens, output, [&](std::span<const int32_t> own, float* to) {
      EmbedHere(embedding, own, scale, {to, embedding.cols});
    });
  }
  EmbedHere(embedding, tokens, scale, output);
}

SKALD_INLINE Rows Multiplications::WholeRows(const Matrix& weights, Rows input, size_t rows) {
  return weights.gathers_inputs() ? gathers_.Inputs(weights, input, rows) : input;
}

SKALD_INLINE const std::byte* Multiplications::PrepareRows(const Matrix& weights, Rows input, size_t rows) {
  Show(weights, input, rows);
  ParallelFor(executor_, rows, weights.cols, [&](size_t begin, size_t end) {
    Prepare(weights, input, rows, begin, end, /*first=*/0, scratch_.prepared.data());
  });
  return scratch_.prepared.data();
}

SKALD_INLINE void Multiplications::MultiplyPrepared(const Matrix& weights, const std::byte* prepared, size_t rows,
                                                    const float* bias, const Outputs& to) {
  if (weights.rows == 0) return;  // all of them are with other ranks
  const auto multiply = [&](size_t row_begin, size_t row_end, size_t panel_begin, size_t panel_end) {
    MultiplyTile(weights, prepared, rows, bias, to, row_begin, row_end, panel_begin, panel_end);
  };
  const size_t panels = weights.NumPanels() / (to.gate ? 2 : 1);
  ParallelForTiles(executor_, rows, kMatMulGroup, panels, weights.padded_cols * weights.rows / panels, multiply);
}

SKALD_INLINE const WeightKernels& Multiplications::KernelsFor(const Matrix& weights) const {
  const WeightKernels* const kernels = FindType(kernels_, weights.dtype);
  HWY_DASSERT(kernels != nullptr);
  return *kernels;
}

SKALD_INLINE void Multiplications::Prepare(const Matrix& weights, Rows input, size_t rows, size_t begin, size_t end,
                                           size_t first, std::byte* prepared) const {
  if (weights.changes_inputs()) {
    const Rows changed = {scratch_.moved.data() + first * weights.cols, weights.cols};
    for (size_t row = begin; row < end; ++row) {
      internal::TakeInputs(weights.inputs(), input.data + row * input.stride, weights.cols,
                           changed.data + row * changed.stride);
    }
    input = changed;
  }
  KernelsFor(weights).prepare({.input = input.data,
                               .input_stride = input.stride,
                               .output = prepared,
                               .rows = rows,
                               .cols = weights.cols,
                               .row_begin = begin,
                               .row_end = end,
                               .row_scale = weights.row_scale});
}

SKALD_INLINE void Multiplications::MultiplyEach(std::span<const RowsOfMatrix> parts,
                                                std::span<std::byte* const> prepared, std::span<const size_t> rows,
                                                std::optional<Activation> gate, Rows output) {
  const Matrix& shape = *parts.front().weights;
  const size_t panels = shape.NumPanels() / (gate ? 2 : 1);
  ParallelForEach(executor_, rows, panels, shape.padded_cols * shape.rows / panels,
                  [&](size_t i, size_t panel_begin, size_t panel_end) {
                    const Outputs to = {{output.data + parts[i].row_begin * output.stride, output.stride}, gate};
                    for (size_t row = 0; row < rows[i]; row += kMatMulGroup) {
                      MultiplyTile(*parts[i].weights, prepared[i], rows[i], BiasHere(parts[i]), to, row,
                                   std::min(rows[i], row + kMatMulGroup), panel_begin, panel_end);
                    }
                  });
}

SKALD_INLINE const float* Multiplications::BiasHere(const RowsOfMatrix& part) const {
  if (part.bias->empty()) return nullptr;
  return part.bias->data() + (part.weights->gathers_outputs() ? gathers_.FirstOutput(*part.weights) : 0);
}

SKALD_INLINE void Multiplications::MultiplyTile(const Matrix& weights, const std::byte* prepared, size_t rows,
                                                const float* bias, const Outputs& to, size_t row_begin, size_t row_end,
                                                size_t panel_begin, size_t panel_end) {
  KernelsFor(weights).mat_mul({.input = prepared,
                               .weights = weights.bytes(),
                               .bias = bias,
                               .output = to.output.data,
                               .output_stride = to.output.stride,
                               .rows = rows,
                               .n = weights.rows,
                               .padded_k = weights.padded_cols,
                               .row_begin = row_begin,
                               .row_end = row_end,
                               .panel_begin = panel_begin,
                               .panel_end = panel_end,
                               .partial_sums = scratch_.partial_sums.data(),
                               .gate = to.gate,
                               .prepared_output = to.prepared});
}

SKALD_INLINE void Multiplications::MultiplyAll(const Matrix& weights, const std::byte* prepared, Rows input,
                                               size_t rows, const std::vector<float>& bias, Rows output) {
  const bool gathers = weights.gathers_outputs();
  const Rows here = gathers ? Rows{gathers_.OwnOutputs(weights, rows), weights.rows} : output;
  const size_t first = gathers ? gathers_.FirstOutput(weights) : 0;
  MultiplyPrepared(weights, prepared, rows, bias.empty() ? nullptr : bias.data() + first, {.output = here});
  if (adapted_ != nullptr) adapted_->AddTo(*this, weights, input, rows, here);
  if (gathers) gathers_.Outputs(weights, rows, output);
}

SKALD_INLINE void Multiplications::ExchangePrepared(const Matrix& weights, Rows input, size_t rows) {
  const WeightKernels& kernels = KernelsFor(weights);
  gathers_.PreparedInputs(weights, rows, [&](size_t row, size_t cols, std::byte* to) {
    kernels.prepare({.input = input.data + row * input.stride,
                     .input_stride = input.stride,
                     .output = to,
                     .rows = 1,
                     .cols = cols,
                     .row_begin = 0,
                     .row_end = 1});
  });
}

SKALD_INLINE void Multiplications::PlacePrepared(const Matrix& weights, size_t first, size_t row_begin, size_t row_end,
                                                 size_t rows, std::byte* prepared) {
  for (size_t row = row_begin; row < row_end; ++row) {
    gathers_.PlacePreparedInput(weights, first + row, prepared, rows, row);
  }
  if (row_end != rows) return;
  // The input after the last row is prepared with no rows.
  KernelsFor(weights).prepare({.input = nullptr,
                               .input_stride = 0,
                               .output = prepared,
                               .rows = rows,
                               .cols = weights.cols,
                               .row_begin = rows,
                               .row_end = rows});
}

SKALD_INLINE const std::byte* Multiplications::GatherPrepared(const Matrix& weights, Rows input, size_t rows) {
  ExchangePrepared(weights, input, rows);
  ParallelFor(executor_, rows, weights.cols,
              [&](size_t begin, size_t end) { PlacePrepared(weights, 0, begin, end, rows, scratch_.prepared.data()); });
  return scratch_.prepared.data();
}

SKALD_INLINE void Multiplications::EmbedHere(const Matrix& embedding, std::span<const int32_t> tokens, float scale,
                                             Rows output) {
  const WeightKernels& kernels = KernelsFor(embedding);
  ParallelFor(executor_, tokens.size(), embedding.cols, [&](size_t begin, size_t end) {
    kernels.embed({.table = embedding.bytes(),
                   .tokens = tokens.data(),
                   .output = output.data,
                   .output_stride = output.stride,
                   .cols = embedding.cols,
                   .padded_k = embedding.padded_cols,
                   .scale = scale,
                   .row_begin = begin,
                   .row_end = end});
  });
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_MULTIPLICATIONS_H_
