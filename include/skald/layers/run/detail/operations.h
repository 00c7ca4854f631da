// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/operations.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_OPERATIONS_H_
#define SKALD_LAYERS_RUN_DETAIL_OPERATIONS_H_

#include "skald/layers/run/operations.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/parallel.h"
#include "skald/kernels/kernels.h"

namespace skald {

SKALD_INLINE void Operations::Norm(Rows input, size_t rows, size_t size, std::span<const float> weight, float epsilon,
                                   Rows output) {
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

SKALD_INLINE void Operations::NormParts(Rows values, size_t rows, size_t size, size_t parts,
                                        std::span<const float> weight, float epsilon) {
  const size_t part = size / parts;
  for (size_t i = 0; i < parts; ++i) {
    const Rows columns = {values.data + i * part, values.stride};
    Norm(columns, rows, part, weight.empty() ? weight : weight.subspan(i * part, part), epsilon, columns);
  }
}

SKALD_INLINE void Operations::NormMatMul(const Matrix& weights, std::span<const float> norm, size_t parts,
                                         float epsilon, Rows input, size_t rows, const std::vector<float>& bias,
                                         Rows output) {
  const Rows whole = WholeRows(weights, input, rows);
  NormParts(whole, rows, weights.cols, parts, norm, epsilon);
  MatMulWhole(weights, whole, rows, bias, output);
}

SKALD_INLINE void Operations::LayerNorm(Rows input, size_t rows, size_t size, const std::vector<float>& weight,
                                        const std::vector<float>& bias, float epsilon, Rows output) {
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

SKALD_INLINE void Operations::LayerNormParts(Rows values, size_t rows, size_t size, size_t parts,
                                             std::span<const float> weight, std::span<const float> bias,
                                             float epsilon) {
  const size_t part = size / parts;
  ParallelFor(executor_, rows, size, [&](size_t begin, size_t end) {
    for (size_t i = 0; i < parts; ++i) {
      Kernels<>::LayerNorm({.input = values.data + i * part,
                            .input_stride = values.stride,
                            .weight = weight.data() + i * part,
                            .bias = bias.data() + i * part,
                            .output = values.data + i * part,
                            .output_stride = values.stride,
                            .cols = part,
                            .epsilon = epsilon,
                            .row_begin = begin,
                            .row_end = end});
    }
  });
}

SKALD_INLINE void Operations::Copy(Rows input, size_t rows, size_t cols, Rows output) {
  ParallelFor(executor_, rows, cols, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      std::copy_n(input.data + r * input.stride, cols, output.data + r * output.stride);
    }
  });
}

SKALD_INLINE void Operations::Scale(float* values, size_t size, float factor) {
  ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) values[i] *= factor;
  });
}

SKALD_INLINE void Operations::Scale(Rows values, size_t rows, size_t cols, float factor) {
  ParallelFor(executor_, rows, cols, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* const one = values.data + row * values.stride;
      for (size_t i = 0; i < cols; ++i) one[i] *= factor;
    }
  });
}

SKALD_INLINE void Operations::Add(float* accumulator, const float* addend, size_t size) {
  ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
    Kernels<>::Add({.accumulator = accumulator, .addend = addend, .begin = begin, .end = end});
  });
}

SKALD_INLINE void Operations::Multiply(Rows values, Rows factors, size_t rows, size_t cols, FactorFunction function) {
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

SKALD_INLINE void Operations::Apply(FactorFunction function, float* values, size_t size) {
  ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
    Kernels<>::Apply({.function = function, .values = values, .begin = begin, .end = end});
  });
}

SKALD_INLINE void Operations::FeedForward(const ActivationRef& gate, const Matrix& gate_up,
                                          const std::vector<float>& gate_up_bias, const Matrix& down,
                                          const std::vector<float>& down_bias, Rows input, size_t rows, float* scratch,
                                          float* gated, Rows output) {
  const size_t width = gate_up.outputs() / 2;  // of this rank's columns, or of all
  if (!gate.is_own() && width % kLanes == 0 && !gate_up.gathers_outputs() && adapted_ == nullptr) {
    return FusedFeedForward(gate.ours(), gate_up, gate_up_bias, down, down_bias, input, rows, gated, output);
  }
  MatMul(gate_up, input, rows, gate_up_bias, {scratch, 2 * width});
  Gate(gate, scratch, rows, width, gated);
  MatMul(down, {gated, width}, rows, down_bias, output);
}

SKALD_INLINE void Operations::Gate(const ActivationRef& gate, const float* gate_up, size_t rows, size_t cols,
                                   float* output) {
  if (gate.is_own()) {
    return ParallelFor(executor_, rows, kOwnActivationWork * cols, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const float* const gates = gate_up + row * 2 * cols;
        gate.Gate(gates, gates + cols, cols, output + row * cols);
      }
    });
  }
  ParallelFor(executor_, rows, 2 * cols, [&](size_t begin, size_t end) {
    Kernels<>::Gate(
        {.gate = gate.ours(), .gate_up = gate_up, .output = output, .cols = cols, .row_begin = begin, .row_end = end});
  });
}

SKALD_INLINE void Operations::Activate(const ActivationRef& activation, float* values, size_t size) {
  if (activation.is_own()) {
    return ParallelFor(executor_, size, kOwnActivationWork,
                       [&](size_t begin, size_t end) { activation.Activate(values + begin, end - begin); });
  }
  ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
    Kernels<>::Activate({.activation = activation.ours(), .values = values, .begin = begin, .end = end});
  });
}

SKALD_INLINE void Operations::Softcap(float* values, size_t size, float cap) {
  ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
    Kernels<>::Softcap({.values = values, .cap = cap, .begin = begin, .end = end});
  });
}

SKALD_INLINE void Operations::Rope(const RopeArgs& args, size_t rows) {
  ForRows(args, rows, args.heads * args.head_dim, [](const RopeArgs& part) { Kernels<>::Rope(part); });
}

SKALD_INLINE void Operations::StoreKV(DType type, const StoreKVArgs& args, size_t rows) {
  const size_t work = 2 * args.geometry.kv_heads * args.geometry.head_dim;
  VisitCacheType(type, [&]<class T>() {
    ForRows(args, rows, work, [](const StoreKVArgs& part) { Kernels<>::template StoreKV<T>(part); });
  });
}

SKALD_INLINE void Operations::Attention(DType type, AttentionArgs args, size_t visible_tokens) {
  // Query heads that share a kv head stay together, so that its keys and values are read once, unless that would
  // leave threads idle.
  const size_t group = args.heads / args.geometry.kv_heads, groups = args.rows * args.geometry.kv_heads;
  const size_t parts = std::clamp<size_t>(executor_.num_workers() / groups, 1, std::max<size_t>(group / 4, 1));
  const size_t part_size = (group + parts - 1) / parts, units = groups * group;
  const size_t work = (args.geometry.head_dim + args.geometry.value_dim()) * visible_tokens * part_size;
  VisitCacheType(type, [&]<class T>() {
    ParallelFor(executor_, (units + part_size - 1) / part_size, work, [&](size_t begin, size_t end) {
      // Backwards: later rows see more, and large pieces are better partitioned out first.
      AttentionArgs part = args;
      part.unit_begin = units - std::min(units, end * part_size), part.unit_end = units - begin * part_size;
      Kernels<>::template Attention<T>(part);
    });
  });
}

SKALD_INLINE void Operations::Conv(const ConvArgs& args, size_t rows) {
  ForRows(args, rows, args.taps * args.channels, [](const ConvArgs& part) { Kernels<>::Conv(part); });
}

SKALD_INLINE void Operations::TokenShift(const TokenShiftArgs& args, size_t rows) {
  ForRows(args, rows, args.mixes * args.channels, [](const TokenShiftArgs& part) { Kernels<>::TokenShift(part); });
}

SKALD_INLINE void Operations::RgLru(RgLruArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const RgLruArgs& part) { Kernels<>::RgLru(part); });
}

SKALD_INLINE void Operations::SelectiveScan(SelectiveScanArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const SelectiveScanArgs& part) { Kernels<>::SelectiveScan(part); });
}

SKALD_INLINE void Operations::StateSpace(StateSpaceArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const StateSpaceArgs& part) { Kernels<>::StateSpace(part); });
}

SKALD_INLINE void Operations::DeltaNet(DeltaNetArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const DeltaNetArgs& part) { Kernels<>::DeltaNet(part); });
}

SKALD_INLINE void Operations::KimiDelta(KimiDeltaArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const KimiDeltaArgs& part) { Kernels<>::KimiDelta(part); });
}

SKALD_INLINE void Operations::DecayedSum(DecayedSumArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const DecayedSumArgs& part) { Kernels<>::DecayedSum(part); });
}

SKALD_INLINE void Operations::TimeMix(TimeMixArgs args, size_t units, size_t work) {
  ForUnits(args, units, work, [](const TimeMixArgs& part) { Kernels<>::TimeMix(part); });
}

SKALD_INLINE void Operations::FusedFeedForward(Activation gate, const Matrix& gate_up,
                                               const std::vector<float>& gate_up_bias, const Matrix& down,
                                               const std::vector<float>& down_bias, Rows input, size_t rows,
                                               float* gated, Rows output) {
  const Rows between = {gated, gate_up.rows / 2};
  // The output of the gate can go from the registers of one multiplication to the input of the next.
  const bool fused = down.dtype == DType::kBF16 && down.cols % kTile == 0 && !down.changes_inputs() &&
                     down.division == nullptr && observer_ == nullptr;
  bf16* const prepared = fused ? reinterpret_cast<bf16*>(gated) : nullptr;
  MultiplyPrepared(gate_up, PrepareRows(gate_up, input, rows), rows, PointerTo(gate_up_bias),
                   {.output = between, .gate = gate, .prepared = prepared});
  fused ? MultiplyPrepared(down, reinterpret_cast<const std::byte*>(prepared), rows, PointerTo(down_bias),
                           {.output = output})
        : MatMul(down, between, rows, down_bias, output);
}

template <class Args, class Kernel>
void Operations::ForRows(const Args& args, size_t rows, size_t work, Kernel kernel) {
  ParallelFor(executor_, rows, work, [&](size_t begin, size_t end) {
    Args part = args;
    part.row_begin = begin, part.row_end = end;
    kernel(part);
  });
}

template <class Args, class Kernel>
void Operations::ForUnits(const Args& args, size_t units, size_t work, Kernel kernel) {
  ParallelFor(executor_, units, work, [&](size_t begin, size_t end) {
    Args part = args;
    part.unit_begin = begin, part.unit_end = end;
    kernel(part);
  });
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_OPERATIONS_H_
