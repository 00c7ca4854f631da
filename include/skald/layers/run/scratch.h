// SPDX-License-Identifier: Apache-2.0
//
// Memory for what layers compute on the way to their output. Belongs to one caller of Forward, grows when a pass needs
// more and is then kept. Nothing in it lives longer than the layer that wrote it.

#ifndef SKALD_LAYERS_RUN_SCRATCH_H_
#define SKALD_LAYERS_RUN_SCRATCH_H_

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/layers/run/scratch_pieces.h"

namespace skald {

/// Makes `buffer` at least `size` long. Its content is lost when it grows.
template <class T>
void Reserve(AlignedBuffer<T>& buffer, size_t size) {
  if (buffer.size() < size) buffer = AlignedBuffer<T>(size);
}

/// The buffers of ranks' exchanges around a multiplication.
struct GatherScratch {
  AlignedBuffer<std::byte> exchanged;  ///< each rank's part, one after the other
  AlignedBuffer<float> inputs;         ///< [rows, cols]
  std::vector<size_t> begins;          ///< [ranks + 1], bytes
};

/// The scratch of a multiplication beside its input and output.
struct MatMulScratch {
  AlignedBuffer<std::byte> prepared;  ///< the input, in the type of the weights
  AlignedBuffer<float> partial_sums;  ///< PartialSumsSize floats
  AlignedBuffer<float> moved;         ///< [rows, cols], the inputs of a matrix that changes them (ColumnInputs)
  GatherScratch gathers;              ///< of a matrix that is divided among ranks
};

/// The additional scratch of adapters, for the rows of one of them.
struct AdapterScratch {
  AlignedBuffer<float> gathered;  ///< [rows, cols], the inputs
  AlignedBuffer<float> between;   ///< [rows, rank]
  AlignedBuffer<float> added;     ///< [rows, rows of the matrix]
};

/// Pieces of memory, which each layer gives names of its own (scratch_pieces.h).
class Scratch {
 public:
  /// Makes the pieces so large, in floats: before a step takes blocks, so that nothing can fail later. Throws
  /// std::bad_alloc.
  void Grow(std::span<const size_t> sizes);

  /// The pieces of a layer, once Grow has made them as large as its Pieces<size_t> says.
  template <template <class> class Pieces>
  Pieces<float*> As() {
    static_assert(sizeof(float*) == sizeof(size_t));
    std::array<float*, kNumPieces<Pieces<size_t>>> pointers;
    for (size_t i = 0; i < pointers.size(); ++i) pointers[i] = pieces_[i].data();
    return std::bit_cast<Pieces<float*>>(pointers);
  }

 private:
  std::vector<AlignedBuffer<float>> pieces_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/scratch.h"
#endif

#endif  // SKALD_LAYERS_RUN_SCRATCH_H_
