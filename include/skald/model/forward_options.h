// SPDX-License-Identifier: Apache-2.0
//
// ForwardOptions: how one call computes, its hooks, and its adapters.

#ifndef SKALD_MODEL_FORWARD_OPTIONS_H_
#define SKALD_MODEL_FORWARD_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/layers/run/matrix_inputs.h"
#include "skald/model/hooks.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

struct ForwardOptions {
  /// Tokens computed at a time, over all sequences of the batch: bounds the activations' memory. Changes speed, never a
  /// result.
  uint32_t pass_tokens = 512;
  /// Watch, and may change, what every pass computes at the places that they name. Watching changes nothing; a changed
  /// row changes what follows from it in its own sequence. The caches' state then no longer follows from their tokens
  /// alone; the caller must take care if it saves or shares them.
  std::vector<Hook> hooks = {};
  /// Sees the rows that each matrix multiplies; not where the weights are one rank's part.
  MatrixObserver matrix_observer = {};
  /// The adapters that the batch's caches are for (KVCache::adapter), among any others: alive until the call returns.
  /// Each cache says by which of them, if any, its rows are computed.
  std::vector<const Adapter*> adapters = {};
  /// The ranks that compute the model with this one, which makes the same call: needed where the weights are one rank's
  /// part, ignored otherwise. Alive until the call returns.
  const CommunicatorRef* ranks = nullptr;
};

}  // namespace skald

#endif  // SKALD_MODEL_FORWARD_OPTIONS_H_
