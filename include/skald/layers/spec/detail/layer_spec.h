// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/spec/layer_spec.h.

#ifndef SKALD_LAYERS_SPEC_DETAIL_LAYER_SPEC_H_
#define SKALD_LAYERS_SPEC_DETAIL_LAYER_SPEC_H_

#include "skald/layers/spec/layer_spec.h"

#include "skald/base/inline.h"
#include "skald/layers/run/scratch.h"

namespace skald {

SKALD_INLINE void internal::Grow(Scratch& scratch, std::span<const size_t> floats) { scratch.Grow(floats); }

SKALD_INLINE void LayerSpec::ListParameters(LayerWeights& weights, size_t model_dim, ParameterList& list) const {
  held_->ListParameters(weights, model_dim, list);
}

}  // namespace skald

#endif  // SKALD_LAYERS_SPEC_DETAIL_LAYER_SPEC_H_
