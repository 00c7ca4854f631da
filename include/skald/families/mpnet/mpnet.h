// SPDX-License-Identifier: Apache-2.0
//
// The family of MPNet (arXiv:2004.09297), an encoder as BERT whose attention also has a learned bias of distances.

#ifndef SKALD_FAMILIES_MPNET_MPNET_H_
#define SKALD_FAMILIES_MPNET_MPNET_H_

#include <string_view>

#include "skald/families/bert/bert.h"
#include "skald/layers/model_spec.h"

namespace skald {

struct MpnetFamily {
  static constexpr std::string_view kModelType = "mpnet";
};

/// BERT without types of tokens, and with a learned bias of distances in `buckets` groups up to 128.
constexpr ModelSpec MpnetSpec(const BertSizes& sizes, int buckets) {
  ModelSpec spec = BertSpec(sizes);
  spec.distance_bias = {.heads = sizes.heads, .buckets = buckets, .max_distance = 128};
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_MPNET_MPNET_H_
