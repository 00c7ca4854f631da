// SPDX-License-Identifier: Apache-2.0
//
// Compiles every kernel into the one source of a program that compiles Skald (skald/compiled.h).

#ifndef SKALD_COMPILED_KERNELS_H_
#define SKALD_COMPILED_KERNELS_H_

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "skald/kernels/dispatch.h"

namespace skald {

template struct Kernels<HWY_TARGETS>;

#define SKALD_INSTANTIATE(T)                                             \
  template void Kernels<HWY_TARGETS>::Prepare<T>(const PrepareArgs<T>&); \
  template void Kernels<HWY_TARGETS>::MatMul<T>(const MatMulArgs<T>&);   \
  template void Kernels<HWY_TARGETS>::Embed<T>(const EmbedArgs<T>&)

SKALD_INSTANTIATE(float);
SKALD_INSTANTIATE(bf16);
SKALD_INSTANTIATE(Q8_0);
SKALD_INSTANTIATE(Q4_0);
SKALD_INSTANTIATE(Q4_1);
SKALD_INSTANTIATE(Q5_0);
SKALD_INSTANTIATE(Q5_1);
SKALD_INSTANTIATE(Q8A);
SKALD_INSTANTIATE(IQ4_NL);
SKALD_INSTANTIATE(MXFP4);
SKALD_INSTANTIATE(Q2_K);
SKALD_INSTANTIATE(Q3_K);
SKALD_INSTANTIATE(Q4_K);
SKALD_INSTANTIATE(Q5_K);
SKALD_INSTANTIATE(Q6_K);
SKALD_INSTANTIATE(Q6A);
SKALD_INSTANTIATE(IQ4_XS);

#undef SKALD_INSTANTIATE
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
