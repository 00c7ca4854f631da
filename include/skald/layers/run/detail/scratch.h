// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/scratch.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_SCRATCH_H_
#define SKALD_LAYERS_RUN_DETAIL_SCRATCH_H_

#include "skald/layers/run/scratch.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void Scratch::Grow(std::span<const size_t> sizes) {
  if (pieces_.size() < sizes.size()) pieces_.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) Reserve(pieces_[i], sizes[i]);
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_SCRATCH_H_
