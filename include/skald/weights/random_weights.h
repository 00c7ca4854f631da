// SPDX-License-Identifier: Apache-2.0
//
// Weights from a seed, to try or measure a model without a checkpoint. The values keep activations near 1 through any
// number of layers: matrices have variance 1 / fan-in, norms are near 1, and recurrent state fades slowly.

#ifndef SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
#define SKALD_WEIGHTS_RANDOM_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/base/numbers/numeric.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {
namespace internal {

/// SplitMix64 (Steele, Lea and Flood 2014) as a function of a counter, so that an element's value depends on the seed
/// and its position, and not on element type or order of filling.
float UniformAt(uint64_t seed, uint64_t index);

/// Fills rows of these numbers; each worker fills a contiguous share of the panels.
void FillMatrix(uint64_t seed, std::span<const size_t> numbers, const ExecutorRef& executor, Matrix& matrix);

/// Fills a whole matrix.
void FillMatrix(uint64_t seed, const ExecutorRef& executor, Matrix& matrix);

}  // namespace internal

/// Fills the parameters of `list`, which are still empty, with values that are a function of `seed`; those of other
/// types than F32 are the rounded ones of F32. Rounding follows the floating-point mode of the executor's threads.
/// Throws std::bad_alloc.
void FillWithRandom(const ParameterList& list, uint64_t seed, DType dtype, const ExecutorRef& executor);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/detail/random_weights.h"
#endif

#endif  // SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
