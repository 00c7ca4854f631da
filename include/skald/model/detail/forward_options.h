// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/forward_options.h.

#ifndef SKALD_MODEL_DETAIL_FORWARD_OPTIONS_H_
#define SKALD_MODEL_DETAIL_FORWARD_OPTIONS_H_

#include "skald/model/forward_options.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::span<float> ResidualStream::row(size_t i) const {
  const size_t model_dim = values.size() / rows();
  return values.subspan(i * model_dim, model_dim);
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_FORWARD_OPTIONS_H_
