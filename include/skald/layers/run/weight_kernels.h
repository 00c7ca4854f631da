// SPDX-License-Identifier: Apache-2.0
//
// The kernels that read weights, a set for each type of them, for code that is compiled once for all types. With
// headers alone a program compiles the kernels of those types that its models may have, and no others.

#ifndef SKALD_LAYERS_RUN_WEIGHT_KERNELS_H_
#define SKALD_LAYERS_RUN_WEIGHT_KERNELS_H_

#include <cstddef>
#include <span>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"

namespace skald {

/// Arguments of bytes are those of the set's type: weights as they lie, and prepared rows in PreparedBytes of memory.
struct WeightKernels {
  DType type;                                           ///< of the weights
  void (*prepare)(const PrepareArgs<std::byte>& args);  ///< Kernels::Prepare
  void (*mat_mul)(const MatMulArgs<std::byte>& args);   ///< Kernels::MatMul
  void (*embed)(const EmbedArgs<std::byte>& args);      ///< Kernels::Embed
};

namespace internal {

#ifdef SKALD_COMPILED

/// The set of a type: all of them are compiled.
WeightKernels KernelsOfType(DType type);

template <class... Ts>
std::span<const WeightKernels> KernelsOf(WeightTypeList<Ts...>) {
  static const WeightKernels sets[] = {KernelsOfType(kDTypeOf<Ts>)...};
  return sets;
}

#else

template <class... Ts>
std::span<const WeightKernels> KernelsOf(WeightTypeList<Ts...>);

#endif

}  // namespace internal

/// Returns the sets of the types in a WeightTypeList.
template <class List>
std::span<const WeightKernels> WeightKernelsOf() {
  return internal::KernelsOf(List{});
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/weight_kernels.h"
#endif

#endif  // SKALD_LAYERS_RUN_WEIGHT_KERNELS_H_
