// SPDX-License-Identifier: Apache-2.0
//
// The kernels that read weights, a set for each type of them, for code that is compiled once for all types. A program
// compiles the kernels of those types that its models may have, and no others.

#ifndef SKALD_LAYERS_RUN_WEIGHT_KERNELS_H_
#define SKALD_LAYERS_RUN_WEIGHT_KERNELS_H_

#include <cstddef>
#include <span>

#include "hwy/base.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "skald/kernels/kernels.h"

namespace skald {

// Arguments of bytes are those of the set's type: weights as they lie, and prepared rows in PreparedBytes of memory.
struct WeightKernels {
  DType type;
  void (*prepare)(const PrepareArgs<std::byte>& args);
  void (*mat_mul)(const MatMulArgs<std::byte>& args);
  void (*embed)(const EmbedArgs<std::byte>& args);
};

namespace internal {

template <class T>
void PrepareBytes(const PrepareArgs<std::byte>& args) {
  Kernels<>::template Prepare<T>({.input = args.input,
                                  .input_stride = args.input_stride,
                                  .output = PreparedIn<T>(args.output, args.rows, PaddedK<T>(args.cols)),
                                  .rows = args.rows,
                                  .cols = args.cols,
                                  .row_begin = args.row_begin,
                                  .row_end = args.row_end});
}

template <class T>
void MatMulBytes(const MatMulArgs<std::byte>& args) {
  Kernels<>::template MatMul<T>({.input = PreparedIn<T>(const_cast<std::byte*>(args.input), args.rows, args.padded_k),
                                 .weights = reinterpret_cast<const T*>(args.weights),
                                 .bias = args.bias,
                                 .output = args.output,
                                 .output_stride = args.output_stride,
                                 .rows = args.rows,
                                 .n = args.n,
                                 .padded_k = args.padded_k,
                                 .row_begin = args.row_begin,
                                 .row_end = args.row_end,
                                 .panel_begin = args.panel_begin,
                                 .panel_end = args.panel_end,
                                 .partial_sums = args.partial_sums,
                                 .gate = args.gate,
                                 .prepared_output = args.prepared_output});
}

template <class T>
void EmbedBytes(const EmbedArgs<std::byte>& args) {
  Kernels<>::template Embed<T>({.table = reinterpret_cast<const T*>(args.table),
                                .tokens = args.tokens,
                                .output = args.output,
                                .output_stride = args.output_stride,
                                .cols = args.cols,
                                .padded_k = args.padded_k,
                                .scale = args.scale,
                                .row_begin = args.row_begin,
                                .row_end = args.row_end});
}

template <class... Ts>
std::span<const WeightKernels> KernelsOf(WeightTypeList<Ts...>) {
  static constexpr WeightKernels kSets[] = {{kDTypeOf<Ts>, &PrepareBytes<Ts>, &MatMulBytes<Ts>, &EmbedBytes<Ts>}...};
  return kSets;
}

}  // namespace internal

// Returns the sets of the types in a WeightTypeList.
template <class List>
std::span<const WeightKernels> WeightKernelsOf() {
  return internal::KernelsOf(List{});
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_WEIGHT_KERNELS_H_
