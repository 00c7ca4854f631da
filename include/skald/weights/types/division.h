// SPDX-License-Identifier: Apache-2.0
//
// Division: how a matrix lies among ranks. Each has some of its rows, so each computes some of the outputs, every one
// of them from all terms of its sum; inputs and outputs are exchanged, sums are not.

#ifndef SKALD_WEIGHTS_TYPES_DIVISION_H_
#define SKALD_WEIGHTS_TYPES_DIVISION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skald {

struct Division {
  /// [ranks + 1], where the rows of each rank begin in the whole matrix: every rank is given all outputs. Empty:
  /// outputs stay with the rank that computes them.
  std::vector<size_t> output_begins = {};
  /// [ranks + 1], where the columns begin that each rank has of the input. Empty: every rank has all.
  std::vector<size_t> input_begins = {};
  /// Tiles of equal size that the columns are, each of which is so divided: input_begins are those of one tile.
  size_t input_tiles = 1;
  /// By which ranks that have parts of different matrices are told apart: Xxh64 of rows that every one of them has
  /// read.
  uint64_t known_by = 0;
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_DIVISION_H_
