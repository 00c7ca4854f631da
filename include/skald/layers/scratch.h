// SPDX-License-Identifier: Apache-2.0
//
// Memory for what layers compute on the way to their output. Belongs to one caller of Forward, grows when a pass needs
// more and is then kept. Nothing in it lives longer than the layer that wrote it.

#ifndef SKALD_LAYERS_SCRATCH_H_
#define SKALD_LAYERS_SCRATCH_H_

#include <array>
#include <cstddef>

#include "skald/base/aligned_buffer.h"

namespace skald {

// Makes `buffer` at least `size` long. Its content is lost when it grows.
template <class T>
void Reserve(AlignedBuffer<T>& buffer, size_t size) {
  if (buffer.size() < size) buffer = AlignedBuffer<T>(size);
}

// What a multiplication needs beside its input and output.
struct MatMulScratch {
  AlignedBuffer<std::byte> prepared;  // the input, in the type of the weights
  AlignedBuffer<float> partial_sums;
};

// Numbered pieces of memory; a layer uses each number for one thing.
class Scratch {
 public:
  static constexpr size_t kPieces = 8;

  // Returns piece `number`, at least `size` floats. What it held stays, unless it has to grow. Throws std::bad_alloc,
  // which Forward makes an error of.
  float* Floats(size_t number, size_t size) {
    Reserve(pieces_[number], size);
    return pieces_[number].data();
  }

 private:
  std::array<AlignedBuffer<float>, kPieces> pieces_;
};

}  // namespace skald

#endif  // SKALD_LAYERS_SCRATCH_H_
