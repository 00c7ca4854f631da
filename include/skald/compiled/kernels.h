// SPDX-License-Identifier: Apache-2.0
//
// Compiles every kernel into the one source of a program that compiles Skald (skald/compiled.h).

#ifndef SKALD_COMPILED_KERNELS_H_
#define SKALD_COMPILED_KERNELS_H_

#include <tuple>

#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "skald/kernels/dispatch.h"
#include "skald/kernels/simd/detail/amx_support.h"

namespace skald {

template struct Kernels<HWY_TARGETS>;
template struct SimilarityKernels<HWY_TARGETS>;

// The kernels of matrices are compiled for each type because their addresses are taken: a type is listed in AllWeights
// alone. Never called.
auto CompileMatrixKernels() {
  using All = Kernels<HWY_TARGETS>;
  return []<class... Ts>(WeightTypeList<Ts...>) {
    return std::tuple(&All::template Prepare<Ts>..., &All::template MatMul<Ts>..., &All::template Embed<Ts>...);
  }(AllWeights{});
}

#define SKALD_INSTANTIATE(T)                                          \
  template void Kernels<HWY_TARGETS>::StoreKV<T>(const StoreKVArgs&); \
  template void Kernels<HWY_TARGETS>::MoveKV<T>(const MoveKVArgs&);   \
  template void Kernels<HWY_TARGETS>::Attention<T>(const AttentionArgs&)

SKALD_INSTANTIATE(float);
SKALD_INSTANTIATE(bf16);
SKALD_INSTANTIATE(int8_t);

#undef SKALD_INSTANTIATE

}  // namespace skald

#endif  // SKALD_COMPILED_KERNELS_H_
