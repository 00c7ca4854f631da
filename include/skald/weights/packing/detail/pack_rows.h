// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/pack_rows.h.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PACK_ROWS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PACK_ROWS_H_

#include "skald/weights/packing/pack_rows.h"

#include "skald/base/inline.h"
#include "skald/base/numbers/group_layout.h"

namespace skald {

SKALD_INLINE size_t RowBytes(const PackSource& source, size_t cols) {
  if (source.format == nullptr) return cols * SizeOf(source.dtype);
  return cols / source.format->block_elements * source.format->block_bytes;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PACK_ROWS_H_
