// SPDX-License-Identifier: Apache-2.0
//
// Rows of activations, as layers hand them to operations.

#ifndef SKALD_LAYERS_RUN_ROWS_H_
#define SKALD_LAYERS_RUN_ROWS_H_

#include <cstddef>

namespace skald {

/// Rows of floats, [rows, cols] with `stride` floats from one row to the next.
struct Rows {
  float* data;
  size_t stride;  ///< floats from one row to the next
};

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_ROWS_H_
