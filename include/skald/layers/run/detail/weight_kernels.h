// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/weight_kernels.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_WEIGHT_KERNELS_H_
#define SKALD_LAYERS_RUN_DETAIL_WEIGHT_KERNELS_H_

#include "skald/layers/run/weight_kernels.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/kernels/kernels.h"

namespace skald::internal {

template <class T>
void PrepareBytes(const PrepareArgs<std::byte>& args) {
  Kernels<>::template Prepare<T>({.input = args.input,
                                  .input_stride = args.input_stride,
                                  .output = PreparedIn<T>(args.output, args.rows, PaddedK<T>(args.cols)),
                                  .rows = args.rows,
                                  .cols = args.cols,
                                  .row_begin = args.row_begin,
                                  .row_end = args.row_end,
                                  .row_scale = args.row_scale});
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
std::span<const WeightKernels> TableOfKernels(WeightTypeList<Ts...>) {
  static constexpr WeightKernels kSets[] = {{kDTypeOf<Ts>, &PrepareBytes<Ts>, &MatMulBytes<Ts>, &EmbedBytes<Ts>}...};
  return kSets;
}

#ifdef SKALD_COMPILED

SKALD_INLINE WeightKernels KernelsOfType(DType type) {
  return *std::ranges::find(TableOfKernels(AllWeights{}), type, &WeightKernels::type);
}

#else

template <class... Ts>
std::span<const WeightKernels> KernelsOf(WeightTypeList<Ts...> types) {
  return TableOfKernels(types);
}

#endif

}  // namespace skald::internal

#endif  // SKALD_LAYERS_RUN_DETAIL_WEIGHT_KERNELS_H_
