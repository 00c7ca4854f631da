// SPDX-License-Identifier: Apache-2.0
//
// Encodes floats as elements of the types of GGUF files: the inverse of types/gguf_blocks.h. Without importances,
// scales and codes are those that packing chooses for the same type (packing/), so a model has the same weights whether
// it is quantised into a file or when it is loaded (LoadOptions::dtype).

#ifndef SKALD_WEIGHTS_WRITING_BLOCK_ENCODER_H_
#define SKALD_WEIGHTS_WRITING_BLOCK_ENCODER_H_

#include <cstddef>
#include <span>

#include "skald/weights/files/gguf_types.h"

namespace skald {

/// Writes elements, finite ones and a multiple of the type's block, to as many blocks. `importance` has as many
/// positive numbers, by which their squared errors are multiplied where scales are fitted; null: all count alike. Pure.
using BlockEncoder = void (*)(std::span<const float> values, const float* importance, std::byte* blocks);

/// Returns the encoder of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K to Q6_K, IQ4_NL, IQ4_XS and MXFP4, and
/// null for types that are only read.
BlockEncoder FindBlockEncoder(const GgufType& type);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/writing/detail/block_encoder.h"
#endif

#endif  // SKALD_WEIGHTS_WRITING_BLOCK_ENCODER_H_
