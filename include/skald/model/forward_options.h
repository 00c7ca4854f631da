// SPDX-License-Identifier: Apache-2.0
//
// ForwardOptions: how one call computes; never what comes out of it.

#ifndef SKALD_MODEL_FORWARD_OPTIONS_H_
#define SKALD_MODEL_FORWARD_OPTIONS_H_

#include <cstdint>

namespace skald {

struct ForwardOptions {
  // Tokens computed at a time, over all sequences of the batch: bounds the activations' memory. Changes speed, never a
  // result.
  uint32_t pass_tokens = 512;
};

}  // namespace skald

#endif  // SKALD_MODEL_FORWARD_OPTIONS_H_
