// SPDX-License-Identifier: Apache-2.0
//
// Operations: the kernels, each shared among the threads of one caller. Chooses the kernel by the type of the
// weights or of the cache; knows nothing of Configs. One per Forward, used by one thread.

#ifndef SKALD_MODEL_OPERATIONS_H_
#define SKALD_MODEL_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "skald/base/executor.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/configs/layer.h"
#include "skald/kernels/kernels.h"
#include "skald/model/parallel.h"
#include "skald/model/workspace.h"
#include "skald/weights/matrix.h"

namespace skald {

// Calls `function.template operator()<T>()` with the C++ type of `type`, which is kF32 or kBF16.
template <class Function>
decltype(auto) VisitDType(DType type, Function&& function) {
  return type == DType::kF32 ? function.template operator()<float>() : function.template operator()<bf16>();
}

// Rows of floats, [rows, cols] with `stride` floats from one row to the next.
struct Rows {
  float* data;
  size_t stride;
};

class Operations {
 public:
  Operations(const ExecutorRef& executor, AlignedBuffer<std::byte>& scratch) : executor_(executor), scratch_(scratch) {}

  const ExecutorRef& executor() const { return executor_; }

  // output[rows, weights.rows] = input[rows, weights.cols] * weights^T + bias; `bias` may be null.
  void MatMul(const Matrix& weights, Rows input, size_t rows, const float* bias, Rows output) {
    VisitDType(weights.dtype, [&]<class T>() {
      Reserve(scratch_, rows * weights.padded_cols * sizeof(T));
      T* const prepared = reinterpret_cast<T*>(scratch_.data());
      ParallelFor(executor_, rows, weights.cols, [&](size_t begin, size_t end) {
        Kernels<>::template Prepare<T>({.input = input.data,
                                        .input_stride = input.stride,
                                        .output = prepared,
                                        .cols = weights.cols,
                                        .row_begin = begin,
                                        .row_end = end});
      });
      ParallelFor(executor_, weights.NumPanels(), rows * weights.padded_cols * kLanes, [&](size_t begin, size_t end) {
        Kernels<>::template MatMul<T>({.input = prepared,
                                       .weights = weights.As<T>(),
                                       .bias = bias,
                                       .output = output.data,
                                       .output_stride = output.stride,
                                       .rows = rows,
                                       .n = weights.rows,
                                       .padded_k = weights.padded_cols,
                                       .panel_begin = begin,
                                       .panel_end = end});
      });
    });
  }

  // output[r, :] = scale * embedding[tokens[r], :].
  void Embed(const Matrix& embedding, const std::vector<int32_t>& tokens, float scale, Rows output) {
    VisitDType(embedding.dtype, [&]<class T>() {
      ParallelFor(executor_, tokens.size(), embedding.cols, [&](size_t begin, size_t end) {
        Kernels<>::template Embed<T>({.table = embedding.As<T>(),
                                      .tokens = tokens.data(),
                                      .output = output.data,
                                      .output_stride = output.stride,
                                      .cols = embedding.cols,
                                      .padded_k = embedding.padded_cols,
                                      .scale = scale,
                                      .row_begin = begin,
                                      .row_end = end});
      });
    });
  }

  // RMSNorm of each row by `weight`, whose size is the row's; `output` may be `input`.
  void Norm(Rows input, size_t rows, const std::vector<float>& weight, float epsilon, Rows output) {
    ParallelFor(executor_, rows, weight.size(), [&](size_t begin, size_t end) {
      Kernels<>::Norm({.input = input.data,
                       .input_stride = input.stride,
                       .weight = weight.data(),
                       .output = output.data,
                       .output_stride = output.stride,
                       .cols = weight.size(),
                       .epsilon = epsilon,
                       .row_begin = begin,
                       .row_end = end});
    });
  }

  // accumulator += addend.
  void Add(float* accumulator, const float* addend, size_t size) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      Kernels<>::Add({.accumulator = accumulator, .addend = addend, .begin = begin, .end = end});
    });
  }

  // output[rows, cols] = activation(gate) * up, of [rows, 2 * cols] gate_up.
  template <Activation kActivation>
  void Gate(const float* gate_up, size_t rows, size_t cols, float* output) {
    ParallelFor(executor_, rows, 2 * cols, [&](size_t begin, size_t end) {
      const GateArgs args = {.gate_up = gate_up, .output = output, .cols = cols, .row_begin = begin, .row_end = end};
      if constexpr (kActivation == Activation::kSilu) {
        Kernels<>::GateSilu(args);
      } else if constexpr (kActivation == Activation::kGeluTanh) {
        Kernels<>::GateGeluTanh(args);
      } else {
        Kernels<>::GateGeluErf(args);
      }
    });
  }

  // values = cap * tanh(values / cap).
  void Softcap(float* values, size_t size, float cap) {
    ParallelFor(executor_, size, 1, [&](size_t begin, size_t end) {
      Kernels<>::Softcap({.values = values, .cap = cap, .begin = begin, .end = end});
    });
  }

  // For operations whose arguments the caller fills in: `args` but its range, which is [row_begin, row_end).
  void Rope(RopeArgs args, size_t rows) {
    ParallelFor(executor_, rows, args.heads * args.head_dim, [&](size_t begin, size_t end) {
      RopeArgs part = args;
      part.row_begin = begin, part.row_end = end;
      Kernels<>::Rope(part);
    });
  }

  void StoreKV(DType type, StoreKVArgs args, size_t rows) {
    const size_t work = 2 * args.geometry.kv_heads * args.geometry.head_dim;
    VisitDType(type, [&]<class T>() {
      ParallelFor(executor_, rows, work, [&](size_t begin, size_t end) {
        StoreKVArgs part = args;
        part.row_begin = begin, part.row_end = end;
        Kernels<>::template StoreKV<T>(part);
      });
    });
  }

  // `visible_tokens` is about how many positions a row sees.
  template <bool kSoftcap>
  void Attention(DType type, AttentionArgs args, size_t rows, size_t visible_tokens) {
    VisitDType(type, [&]<class T>() {
      ParallelFor(executor_, rows * args.heads, 2 * args.geometry.head_dim * visible_tokens, [&](size_t begin, size_t end) {
        AttentionArgs part = args;
        part.unit_begin = begin, part.unit_end = end;
        Kernels<>::template Attention<T, kSoftcap>(part);
      });
    });
  }

 private:
  const ExecutorRef& executor_;
  AlignedBuffer<std::byte>& scratch_;  // a matmul's input, in the type of its weights
};

}  // namespace skald

#endif  // SKALD_MODEL_OPERATIONS_H_
