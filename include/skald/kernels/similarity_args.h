// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the kernels that compare vectors, in the terms of args.h.

#ifndef SKALD_KERNELS_SIMILARITY_ARGS_H_
#define SKALD_KERNELS_SIMILARITY_ARGS_H_

#include <cstddef>
#include <cstdint>

namespace skald {

/// output[row] = sum over i of vector[i] * rows[row, i], and squares[row] = sum over i of rows[row, i]^2, in the order
/// of R3 in double.
struct DotArgs {
  const float* vector;  ///< [cols]
  const float* rows;    ///< [rows, cols], tightly packed
  size_t cols;
  double* output;   ///< [rows]
  double* squares;  ///< [rows] or null
  size_t row_begin, row_end;
};

/// The same of int8 codes; sums are exact.
struct CodeDotArgs {
  const int8_t* vector;  ///< [cols]
  const int8_t* rows;    ///< [rows, cols], tightly packed
  size_t cols;
  int64_t* output;   ///< [rows]
  int64_t* squares;  ///< [rows] or null
  size_t row_begin, row_end;
};

/// output[row] = the number of bits in which vector and rows[row] differ.
struct BitDistanceArgs {
  const uint8_t* vector;  ///< [cols]
  const uint8_t* rows;    ///< [rows, cols], tightly packed
  size_t cols;            ///< bytes
  int64_t* output;        ///< [rows]
  size_t row_begin, row_end;
};

}  // namespace skald

#endif  // SKALD_KERNELS_SIMILARITY_ARGS_H_
