// SPDX-License-Identifier: Apache-2.0
//
// Kernels that compare vectors, dispatched as those of kernels.h, whose conventions hold here too. They are apart
// because no model needs them. Unlike those, they give the same bits on targets without fused multiply-add too
// (ARITHMETIC.md).

#ifndef SKALD_KERNELS_SIMILARITY_H_
#define SKALD_KERNELS_SIMILARITY_H_

#include <cstdint>

#include "hwy/detect_targets.h"
#include "skald/base/highway.h"
#include "skald/kernels/similarity_args.h"

namespace skald {

/// Each function is documented at its arguments (similarity_args.h).
template <int64_t kTargets = HWY_TARGETS>
struct SimilarityKernels {
  /// Dot products of floats.
  static void Dots(const DotArgs& args);

  /// Dot products of int8 codes.
  static void CodeDots(const CodeDotArgs& args);

  /// Numbers of bits that differ.
  static void BitDistances(const BitDistanceArgs& args);
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/kernels/dispatch.h"
#endif

#endif  // SKALD_KERNELS_SIMILARITY_H_
