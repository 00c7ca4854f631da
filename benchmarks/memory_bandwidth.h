// SPDX-License-Identifier: Apache-2.0
//
// How fast this machine reads memory: the limit of decoding, measured in the same run as what it bounds.

#ifndef SKALD_BENCHMARKS_MEMORY_BANDWIDTH_H_
#define SKALD_BENCHMARKS_MEMORY_BANDWIDTH_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/executor.h"

namespace skald {

// Reads `size` numbers, a multiple of 16384, and returns a number that depends on them all. Four streams are read side
// by side, as the product of one row does with its panels: a single stream leaves the processor's prefetchers idle at
// every page boundary.
inline uint64_t ReadAll(const uint64_t* data, size_t size) {
  constexpr size_t kStreams = 4, kLine = 8, kStream = 4096;
  uint64_t sums[kLine] = {};
  for (size_t begin = 0; begin < size; begin += kStreams * kStream) {
    for (size_t i = begin; i < begin + kStream; i += kLine) {
      for (size_t s = 0; s < kStreams; ++s) {
        for (size_t j = 0; j < kLine; ++j) sums[j] += data[i + s * kStream + j];
      }
    }
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

// Returns the bytes per second that all workers of `executor` read together: the best of a few tries.
inline double MemoryBandwidth(const ExecutorRef& executor) {
  constexpr size_t kPieces = 64, kPieceSize = size_t{1} << 19;  // 256 MiB in all
  const AlignedBuffer<uint64_t> buffer(kPieces * kPieceSize);
  std::vector<uint64_t> sums(kPieces);
  const auto read = [&](size_t piece) { sums[piece] = ReadAll(buffer.data() + piece * kPieceSize, kPieceSize); };
  double best = 0.0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    executor.Run(kPieces, TaskRef(read));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(buffer.size() * sizeof(uint64_t)) / seconds.count());
  }
  return best;
}

}  // namespace skald

#endif  // SKALD_BENCHMARKS_MEMORY_BANDWIDTH_H_
