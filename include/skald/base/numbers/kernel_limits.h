// SPDX-License-Identifier: Apache-2.0
//
// The largest sizes that kernels compute, for layers to refuse larger ones.

#ifndef SKALD_BASE_NUMBERS_KERNEL_LIMITS_H_
#define SKALD_BASE_NUMBERS_KERNEL_LIMITS_H_

#include <cstddef>

namespace skald {

/// Largest head dimension that the on-stack buffers of attention and of RWKV-7's time mix hold.
inline constexpr size_t kMaxHeadDim = 576;

/// Largest state_dim that the selective scan's on-stack buffers hold.
inline constexpr size_t kMaxStateDim = 256;

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_KERNEL_LIMITS_H_
