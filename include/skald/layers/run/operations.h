// SPDX-License-Identifier: Apache-2.0
//
// Operations: the kernels, each shared among the threads of one caller. Chooses the kernel by the type of the
// weights or of the cache; knows nothing of models. One per Forward, used by one thread.

#ifndef SKALD_LAYERS_RUN_OPERATIONS_H_
#define SKALD_LAYERS_RUN_OPERATIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hwy/base.h"
#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/parallel.h"
#include "skald/kernels/kernels.h"
#include "skald/layers/run/adapted_rows.h"
#include "skald/layers/run/rank_gathers.h"
#include "skald/layers/run/rows.h"  // IWYU pragma: export
#include "skald/layers/run/scratch.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/weights/types/matrix.h"

namespace skald {

// Calls `function.template operator()<T>()` with the C++ type of a cache's elements: kF32, kBF16 or kI8.
template <class Function>
decltype(auto) VisitCacheType(DType type, Function&& function) {
  if (type == DType::kF32) return function.template operator()<float>();
  if (type == DType::kI8) return function.template operator()<int8_t>();
  return function.template operator()<bf16>();
}

// Returns the floats for partial sums that a multiplication by `weights` needs.
inline size_t PartialSumsSize(const Matrix& weights, size_t rows) {
  return IsGrouped(weights.dtype) ? 0 : PartialSumsSize(rows, weights.rows, weights.padded_cols);
}

// Grows `scratch` to what Operations::MatMul by `weights` needs for up to `rows` rows.
inline void ReserveMatMul(const Matrix& weights, size_t rows, MatMulScratch& scratch) {
  Reserve(scratch.prepared, PreparedBytes(weights.dtype, rows, weights.padded_cols));
  Reserve(scratch.partial_sums, PartialSumsSize(weights, rows));
  ReserveGathers(weights, rows, scratch.gathers);
}

// The same for BlockMatMul, of `cols` columns.
inline void ReserveBlockMatMul(const std::vector<Matrix>& blocks, size_t cols, size_t rows, MatMulScratch& scratch) {
  const Matrix& one = blocks.front();
  Reserve(scratch.prepared, cols / one.cols * PreparedBytes(one.dtype, rows, one.padded_cols));
  Reserve(scratch.partial_sums, blocks.size() * PartialSumsSize(one, rows));
}

// Rows [row_begin, row_end) and the matrix that multiplies them, with its bias or an empty one.
struct RowsOfMatrix {
  const Matrix* weights;
  const std::vector<float>* bias;
  size_t row_begin, row_end;

  size_t rows() const { return row_end - row_begin; }
};

class Operations {
 public:
  // Matrices that MatMulEach multiplies by at most.
  static constexpr size_t kMostTogether = 8;
  // Rows that MatMulEach multiplies at most, unless a pass has more.
  static constexpr size_t kMostRowsTogether = 32;

  // `scratch` must have been reserved for every multiplication, and `kernels` have a set for the type of every matrix.
  // `adapted` are the rows that have adapters, or null where none has; `ranks` may be null where no matrix is divided.
  Operations(const ExecutorRef& executor, MatMulScratch& scratch, std::span<const WeightKernels> kernels,
             const AdaptedRows* adapted = nullptr, const CommunicatorRef* ranks = nullptr)
      : executor_(executor),
        scratch_(scratch),
        kernels_(kernels),
        adapted_(adapted),
        gathers_(ranks, scratch.gathers, executor) {}

  const ExecutorRef& executor() const { return executor_; }

  // The first error of an exchange with other ranks; what was computed since then is of no use.
  const Result<void>& status() const { return gathers_.status(); }

  // output[rows, weights.outputs()] = input[rows, weights.cols] * weights^T + bias; no bias if that is empty. Rows with
  // an adapter get what it adds; their output must not be their input. Of a matrix that is divided among ranks, the
  // input has the columns and the output the rows that are here, unless they are gathered (Division); the bias is as
  // long as the output.
  void MatMul(const Matrix& weights, Rows input, size_t rows, const std::vector<float>& bias, Rows output) {
    if (weights.division != nullptr) return DividedMatMul(weights, input, rows, bias, output);
    Multiply(weights, PrepareRows(weights, input, rows), rows, PointerTo(bias), {.output = output});
    if (adapted_ != nullptr) adapted_->AddTo(*this, weights, input, rows, output);
  }

  // MatMul for each part's rows of input and output, the work of all parts shared among the threads at once; with a
  // gate, outputs are half as wide, as in FeedForward, and not gathered. The matrices are of one shape and have no
  // adapters; there are
  // kMostTogether of them at most, and more than one only where none needs partial sums. `memory` holds
  // EachFloats(number of rows, cols).
  void MatMulEach(std::span<const RowsOfMatrix> parts, Rows input, Rows output, std::optional<Activation> gate,
                  float* memory) {
    const Matrix& shape = *parts.front().weights;
    const size_t all_rows = parts.back().row_end;
    if (shape.gathers_inputs()) input = gathers_.Inputs(shape, input, all_rows);
    const Rows here = shape.gathers_outputs() ? Rows{gathers_.OwnOutputs(shape, all_rows), shape.rows} : output;
    std::byte* prepared[kMostTogether];
    size_t rows[kMostTogether];
    auto* free = reinterpret_cast<std::byte*>(memory);
    for (size_t i = 0; i < parts.size(); ++i) {
      prepared[i] = free, rows[i] = parts[i].rows();
      free += PreparedBytes(parts[i].weights->dtype, rows[i], parts[i].weights->padded_cols);
    }
    ParallelFor(executor_, parts.size(), all_rows * shape.cols / parts.size(), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        KernelsFor(*parts[i].weights)
            .prepare({.input = input.data + parts[i].row_begin * input.stride,
                      .input_stride = input.stride,
                      .output = prepared[i],
                      .rows = rows[i],
                      .cols = shape.cols,
                      .row_begin = 0,
                      .row_end = rows[i]});
      }
    });
    if (shape.rows > 0) MultiplyEach(parts, {prepared, parts.size()}, {rows, parts.size()}, gate, here);
    if (shape.gathers_outputs()) gathers_.Outputs(shape, all_rows, output);
  }

  // Returns the memory, in floats, that MatMulEach needs for matrices of any type.
  static constexpr size_t EachFloats(size_t rows, size_t cols) {
    return (rows + kMostTogether * (kRowBlock - 1)) * RoundUp(cols, kActivationBlock);
  }

  // output = down * (Gate(first half) * second half of gate_up * input), with the biases of both; `scratch` has room
  // for [rows, gate_up.outputs()] floats and `gated` for [RoundUp(rows, kRowBlock), half as many].
  template <AnyActivation Function>
  void FeedForward(Function gate, const Matrix& gate_up, const std::vector<float>& gate_up_bias, const Matrix& down,
                   const std::vector<float>& down_bias, Rows input, size_t rows, float* scratch, float* gated,
                   Rows output) {
    const size_t width = gate_up.outputs() / 2;  // of this rank's columns, or of all
    if constexpr (!OwnActivation<Function>) {
      if (width % kLanes == 0 && !gate_up.gathers_outputs() && adapted_ == nullptr) {
        return FusedFeedForward(gate, gate_up, gate_up_bias, down, down_bias, input, rows, gated, output);
      }
    }
    MatMul(gate_up, input, rows, gate_up_bias, {scratch, 2 * width});
    Gate(gate, scratch, rows, width, gated);
    MatMul(down, {gated, width}, rows, down_bias, output);
  }

  // MatMul by a block-diagonal matrix, of several outputs for each input: block i, a matrix [n, k], multiplies part
  // i % (cols / k) of the input's `cols` columns, and its outputs begin at output[:, i * step]. The bias is [blocks *
  // n].
  void BlockMatMul(const std::vector<Matrix>& blocks, Rows input, size_t cols, size_t rows,
                   const std::vector<float>& bias, Rows output, size_t step) {
    const size_t n = blocks.front().rows, k = blocks.front().cols, padded_k = blocks.front().padded_cols;
    const size_t parts = cols / k, panels = blocks.front().NumPanels();
    const WeightKernels& kernels = KernelsFor(blocks.front());
    const size_t part_bytes = PreparedBytes(kernels.type, rows, padded_k);
    const size_t partial_size = PartialSumsSize(blocks.front(), rows);
    const auto prepared = [&](size_t part) { return scratch_.prepared.data() + part * part_bytes; };
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

  // output[r, :] = scale * embedding[tokens[r], :].
  void Embed(const Matrix& embedding, std::span<const int32_t> tokens, float scale, Rows output) {
    if (embedding.division != nullptr) {
      return gathers_.Embeddings(embedding, tokens, output, [&](std::span<const int32_t> own, float* to) {
        EmbedHere(embedding, own, scale, {to, embedding.cols});
      });
    }
    EmbedHere(embedding, tokens, scale, output);
  }

  // RMSNorm of each row of `size` elements; no weight where it is empty. `output` may be `input`.
  void Norm(Rows input, size_t rows, size_t size, std::span<const float> weight, float epsilon, Rows output) {
    ParallelFor(executor_, rows, size, [&](size_t begin, size_t end) {
      Kernels<>::Norm({.input = input.data,
                       .input_stride = input.stride,
                       .weight = weight.empty() ? nullptr : weight.data(),
                       .output = output.data,
                       .output_stride = output.stride,
                       .cols = size,
                       .epsilon = epsilon,
                       .row_begin = begin,
                       .row_end = end});
    });
  }

  // LayerNorm of each row of `size` elements; no weight and no bias where those are empty. `output` may be `input`.
  void LayerNorm(Rows input, size_t rows, size_t size, const std::vector<float>& weight, const std::vector<float>& bias,
                 float epsilon, Rows output) {
    ParallelFor(executor_, rows, size, [&](size_t begin, size_t end) {
      Kernels<>::LayerNorm({.input = input.data,
                            .input_stride = input.stride,
                            .weight = weight.empty() ? nullptr : weight.data(),
                            .bias = bias.empty() ? nullptr : bias.data(),
                            .output = output.data,
                            .output_stride = output.stride,
                            .cols = size,
                            .epsilon = epsilon,
                            .row_begin = begin,
                            .row_end = end});
    });
  }

  // output = input, [rows, cols] each.
  void Copy(Rows input, size_t rows, size_t cols, Rows output) {
    ParallelFor(executor_, rows, cols, [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        std::copy_n(input.data + r * input.stride, cols, output.data + r * output.stride);
      }
    });
  }

  // values *= factor.
  void Scale(float* values, size_t size, float factor) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) values[i] *= factor;
    });
  }

  // The same for [rows, cols].
  void Scale(Rows values, size_t rows, size_t cols, float factor) {
    ParallelFor(executor_, rows, cols, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        float* const one = values.data + row * values.stride;
        for (size_t i = 0; i < cols; ++i) one[i] *= factor;
      }
    });
  }

  // accumulator += addend.
  void Add(float* accumulator, const float* addend, size_t size) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      Kernels<>::Add({.accumulator = accumulator, .addend = addend, .begin = begin, .end = end});
    });
  }

  // values *= function(factors), [rows, cols] each.
  void Multiply(Rows values, Rows factors, size_t rows, size_t cols, FactorFunction function = FactorFunction::kNone) {
    ParallelFor(executor_, rows, cols, [&](size_t begin, size_t end) {
      Kernels<>::Multiply({.values = values.data,
                           .value_stride = values.stride,
                           .factors = factors.data,
                           .factor_stride = factors.stride,
                           .function = function,
                           .cols = cols,
                           .row_begin = begin,
                           .row_end = end});
    });
  }

  // values = function(values).
  void Apply(FactorFunction function, float* values, size_t size) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      Kernels<>::Apply({.function = function, .values = values, .begin = begin, .end = end});
    });
  }

  // output[rows, cols] = Gate(gate) * up, of [rows, 2 * cols] gate_up.
  void Gate(Activation gate, const float* gate_up, size_t rows, size_t cols, float* output) {
    ParallelFor(executor_, rows, 2 * cols, [&](size_t begin, size_t end) {
      Kernels<>::Gate(
          {.gate = gate, .gate_up = gate_up, .output = output, .cols = cols, .row_begin = begin, .row_end = end});
    });
  }
  template <OwnActivation Function>
  void Gate(const Function& gate, const float* gate_up, size_t rows, size_t cols, float* output) {
    ParallelFor(executor_, rows, kOwnActivationWork * cols, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const float* const gates = gate_up + row * 2 * cols;
        for (size_t i = 0; i < cols; ++i) output[row * cols + i] = gate(gates[i]) * gates[cols + i];
      }
    });
  }

  // values = activation(values).
  void Activate(Activation activation, float* values, size_t size) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      Kernels<>::Activate({.activation = activation, .values = values, .begin = begin, .end = end});
    });
  }
  template <OwnActivation Function>
  void Activate(const Function& activation, float* values, size_t size) {
    ParallelFor(executor_, size, kOwnActivationWork, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) values[i] = activation(values[i]);
    });
  }

  // values = cap * tanh(values / cap).
  void Softcap(float* values, size_t size, float cap) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      Kernels<>::Softcap({.values = values, .cap = cap, .begin = begin, .end = end});
    });
  }

  // For operations whose arguments the caller fills in: `args` but its range, which is [row_begin, row_end).
  void Rope(const RopeArgs& args, size_t rows) {
    ForRows(args, rows, args.heads * args.head_dim, [](const RopeArgs& part) { Kernels<>::Rope(part); });
  }

  void StoreKV(DType type, const StoreKVArgs& args, size_t rows) {
    const size_t work = 2 * args.geometry.kv_heads * args.geometry.head_dim;
    VisitCacheType(type, [&]<class T>() {
      ForRows(args, rows, work, [](const StoreKVArgs& part) { Kernels<>::template StoreKV<T>(part); });
    });
  }

  // `visible_tokens` is about how many positions a row sees.
  void Attention(DType type, AttentionArgs args, size_t visible_tokens) {
    // Query heads that share a kv head stay together, so that its keys and values are read once, unless that would
    // leave threads idle.
    const size_t group = args.heads / args.geometry.kv_heads, groups = args.rows * args.geometry.kv_heads;
    const size_t parts = std::clamp<size_t>(executor_.num_workers() / groups, 1, std::max<size_t>(group / 4, 1));
    const size_t part_size = (group + parts - 1) / parts, units = groups * group;
    const size_t work = (args.geometry.head_dim + args.geometry.value_dim()) * visible_tokens * part_size;
    VisitCacheType(type, [&]<class T>() {
      ParallelFor(executor_, (units + part_size - 1) / part_size, work, [&](size_t begin, size_t end) {
        // Backwards: later rows see more, and large pieces are better dealt out first.
        AttentionArgs part = args;
        part.unit_begin = units - std::min(units, end * part_size), part.unit_end = units - begin * part_size;
        Kernels<>::template Attention<T>(part);
      });
    });
  }

  void Conv(const ConvArgs& args, size_t rows) {
    ForRows(args, rows, args.taps * args.channels, [](const ConvArgs& part) { Kernels<>::Conv(part); });
  }

  void TokenShift(const TokenShiftArgs& args, size_t rows) {
    ForRows(args, rows, args.mixes * args.channels, [](const TokenShiftArgs& part) { Kernels<>::TokenShift(part); });
  }

  // Scans over time. `units` and `work`, elements touched by each unit, are for all runs together.
  void RgLru(RgLruArgs args, size_t units, size_t work) {
    ForUnits(args, units, work, [](const RgLruArgs& part) { Kernels<>::RgLru(part); });
  }
  void SelectiveScan(SelectiveScanArgs args, size_t units, size_t work) {
    ForUnits(args, units, work, [](const SelectiveScanArgs& part) { Kernels<>::SelectiveScan(part); });
  }
  void StateSpace(StateSpaceArgs args, size_t units, size_t work) {
    ForUnits(args, units, work, [](const StateSpaceArgs& part) { Kernels<>::StateSpace(part); });
  }
  void DeltaNet(DeltaNetArgs args, size_t units, size_t work) {
    ForUnits(args, units, work, [](const DeltaNetArgs& part) { Kernels<>::DeltaNet(part); });
  }
  void TimeMix(TimeMixArgs args, size_t units, size_t work) {
    ForUnits(args, units, work, [](const TimeMixArgs& part) { Kernels<>::TimeMix(part); });
  }

 private:
  static const float* PointerTo(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

  // MatMul by a matrix of which some rows are here. (Adapters are for whole models.)
  void DividedMatMul(const Matrix& weights, Rows input, size_t rows, const std::vector<float>& bias, Rows output) {
    if (weights.gathers_inputs()) input = gathers_.Inputs(weights, input, rows);
    const std::byte* const prepared = PrepareRows(weights, input, rows);
    if (!weights.gathers_outputs()) return Multiply(weights, prepared, rows, PointerTo(bias), {.output = output});
    const size_t first = bias.empty() ? 0 : gathers_.FirstOutput(weights);
    const Rows here = {gathers_.OwnOutputs(weights, rows), weights.rows};
    Multiply(weights, prepared, rows, bias.empty() ? nullptr : bias.data() + first, {.output = here});
    gathers_.Outputs(weights, rows, output);
  }

  // output[r, :] = scale * row tokens[r] of what is here.
  void EmbedHere(const Matrix& embedding, std::span<const int32_t> tokens, float scale, Rows output) {
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

  // FeedForward whose gate is applied while the first sums are still in registers.
  void FusedFeedForward(Activation gate, const Matrix& gate_up, const std::vector<float>& gate_up_bias,
                        const Matrix& down, const std::vector<float>& down_bias, Rows input, size_t rows, float* gated,
                        Rows output) {
    const Rows between = {gated, gate_up.rows / 2};
    // What the gate lets pass can go from the registers of one multiplication to the input of the next.
    const bool fused = down.dtype == DType::kBF16 && down.cols % kTile == 0 && down.division == nullptr;
    bf16* const prepared = fused ? reinterpret_cast<bf16*>(gated) : nullptr;
    Multiply(gate_up, PrepareRows(gate_up, input, rows), rows, PointerTo(gate_up_bias),
             {.output = between, .gate = gate, .prepared = prepared});
    fused ? Multiply(down, reinterpret_cast<const std::byte*>(prepared), rows, PointerTo(down_bias), {.output = output})
          : MatMul(down, between, rows, down_bias, output);
  }

  const WeightKernels& KernelsFor(const Matrix& weights) const {
    const WeightKernels* const kernels = FindType(kernels_, weights.dtype);
    HWY_DASSERT(kernels != nullptr);
    return *kernels;
  }

  // Returns the rows as `weights` are multiplied by, until the next call.
  const std::byte* PrepareRows(const Matrix& weights, Rows input, size_t rows) {
    const WeightKernels& kernels = KernelsFor(weights);
    ParallelFor(executor_, rows, weights.cols, [&](size_t begin, size_t end) {
      kernels.prepare({.input = input.data,
                       .input_stride = input.stride,
                       .output = scratch_.prepared.data(),
                       .rows = rows,
                       .cols = weights.cols,
                       .row_begin = begin,
                       .row_end = end});
    });
    return scratch_.prepared.data();
  }

  // Where the outputs of a multiplication go; with a gate, perhaps prepared for the next one.
  struct Outputs {
    Rows output;
    std::optional<Activation> gate = {};
    bf16* prepared = nullptr;
  };

  void Multiply(const Matrix& weights, const std::byte* prepared, size_t rows, const float* bias, const Outputs& to) {
    if (weights.rows == 0) return;  // all of them are with other ranks
    const auto multiply = [&](size_t row_begin, size_t row_end, size_t panel_begin, size_t panel_end) {
      MultiplyTile(weights, prepared, rows, bias, to, row_begin, row_end, panel_begin, panel_end);
    };
    const size_t panels = weights.NumPanels() / (to.gate ? 2 : 1);
    ParallelForTiles(executor_, rows, kMatMulGroup, panels, weights.padded_cols * weights.rows / panels, multiply);
  }

  // What MatMulEach does once the rows of each part are prepared.
  void MultiplyEach(std::span<const RowsOfMatrix> parts, std::span<std::byte* const> prepared,
                    std::span<const size_t> rows, std::optional<Activation> gate, Rows output) {
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

  const float* BiasHere(const RowsOfMatrix& part) const {
    if (part.bias->empty()) return nullptr;
    return part.bias->data() + (part.weights->gathers_outputs() ? gathers_.FirstOutput(*part.weights) : 0);
  }

  void MultiplyTile(const Matrix& weights, const std::byte* prepared, size_t rows, const float* bias, const Outputs& to,
                    size_t row_begin, size_t row_end, size_t panel_begin, size_t panel_end) {
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

  // Calls the kernel with `args` and a range of rows or units, each of which touches `work` elements.
  template <class Args, class Kernel>
  void ForRows(const Args& args, size_t rows, size_t work, Kernel kernel) {
    ParallelFor(executor_, rows, work, [&](size_t begin, size_t end) {
      Args part = args;
      part.row_begin = begin, part.row_end = end;
      kernel(part);
    });
  }
  template <class Args, class Kernel>
  void ForUnits(const Args& args, size_t units, size_t work, Kernel kernel) {
    ParallelFor(executor_, units, work, [&](size_t begin, size_t end) {
      Args part = args;
      part.unit_begin = begin, part.unit_end = end;
      kernel(part);
    });
  }

  // About how many elements are touched in the time that a function of a user's own takes, one element at a time.
  static constexpr size_t kOwnActivationWork = 16;

  const ExecutorRef& executor_;
  MatMulScratch& scratch_;
  const std::span<const WeightKernels> kernels_;
  const AdaptedRows* const adapted_;
  RankGathers gathers_;
};

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_OPERATIONS_H_
