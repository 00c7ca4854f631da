// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/types/matrix_bytes.h.

#ifndef SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_BYTES_H_
#define SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_BYTES_H_

#include "skald/weights/types/matrix_bytes.h"

#include <cstdint>
#include <utility>

#include "skald/base/highway.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE MatrixBytes::MatrixBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), bytes_(bytes) {
  HWY_DASSERT(reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0);
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_BYTES_H_
