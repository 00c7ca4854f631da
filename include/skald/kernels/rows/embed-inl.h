// SPDX-License-Identifier: Apache-2.0
//
// Looks up rows of a packed embedding table. A row is scattered in its panel, one to four bytes at a time, so vectors
// gain nothing; packing allows one table for embedding and output projection.

#if defined(SKALD_KERNELS_ROWS_EMBED_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ROWS_EMBED_INL_TOGGLE
#undef SKALD_KERNELS_ROWS_EMBED_INL_TOGGLE
#else
#define SKALD_KERNELS_ROWS_EMBED_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_element.h"
#include "skald/kernels/args.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

template <class T>
void Embed(const EmbedArgs<T>& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    const size_t token = static_cast<size_t>(args.tokens[row]);
    float* output = args.output + row * args.output_stride;
    for (size_t k = 0; k < args.cols; ++k) {
      output[k] = ElementOf(args.table, token, k, args.padded_k) * args.scale;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_EMBED_INL_TOGGLE
