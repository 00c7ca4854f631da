// SPDX-License-Identifier: Apache-2.0
//
// Division: how a matrix is divided among ranks. Each has some of its rows, so each computes some of the outputs, every
// one of them from all terms of its sum; inputs and outputs are exchanged, sums are not.

#ifndef SKALD_WEIGHTS_TYPES_DIVISION_H_
#define SKALD_WEIGHTS_TYPES_DIVISION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skald {

struct Division {
  /// [ranks + 1], where the rows of each rank begin in the whole matrix: every rank gets all outputs. Empty: outputs
  /// stay with the rank that computes them.
  std::vector<size_t> output_begins = {};
  /// [ranks + 1], where each rank's columns of the input begin. Empty: every rank has all.
  std::vector<size_t> input_begins = {};
  /// The columns are so many tiles of equal size, each divided by input_begins, which counts within a tile.
  size_t input_tiles = 1;
  /// Tells ranks with parts of different matrices apart: Xxh64 of rows that all of them have read.
  uint64_t known_by = 0;
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_DIVISION_H_
