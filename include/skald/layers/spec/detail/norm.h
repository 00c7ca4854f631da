// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/spec/norm.h.

#ifndef SKALD_LAYERS_SPEC_DETAIL_NORM_H_
#define SKALD_LAYERS_SPEC_DETAIL_NORM_H_

#include "skald/layers/spec/norm.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void NormSpec::ListParameters(NormWeights& weights, std::string_view name, size_t size,
                                           ParameterList& list) const {
  if (weights.empty()) weights = {size, MakeWeights()};
  held_->ListParameters(*weights.held, name, size, list);
}

SKALD_INLINE void NormSpec::Run(const NormWeights& weights, Operations& ops, Rows input, size_t rows,
                                Rows output) const {
  held_->Run(*weights.held, {ops, rows, weights.size, input, output});
}

}  // namespace skald

#endif  // SKALD_LAYERS_SPEC_DETAIL_NORM_H_
