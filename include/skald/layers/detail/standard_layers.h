// SPDX-License-Identifier: Apache-2.0
//
// Values that hold the standard layers and norms, compiled once for a program of many sources.

#ifndef SKALD_LAYERS_DETAIL_STANDARD_LAYERS_H_
#define SKALD_LAYERS_DETAIL_STANDARD_LAYERS_H_

#include "skald/layers/standard_layers.h"

#ifdef SKALD_COMPILED
namespace skald::internal {

#define SKALD_COMPILE_HELD(L)                       \
  template struct WeightsOf<L>;                     \
  template struct HeldComponent<L, LayerInterface>; \
  template struct HeldLayer<L>;
SKALD_FOR_STANDARD_LAYERS(SKALD_COMPILE_HELD)
#undef SKALD_COMPILE_HELD
#define SKALD_COMPILE_HELD(N)                      \
  template struct WeightsOf<N>;                    \
  template struct HeldComponent<N, NormInterface>; \
  template struct HeldNorm<N>;
SKALD_FOR_STANDARD_NORMS(SKALD_COMPILE_HELD)
#undef SKALD_COMPILE_HELD

}  // namespace skald::internal
#endif

#endif  // SKALD_LAYERS_DETAIL_STANDARD_LAYERS_H_
