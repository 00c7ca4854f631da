// SPDX-License-Identifier: Apache-2.0
//
// ForwardOptions: how one call computes, its observer, and its adapters.

#ifndef SKALD_MODEL_FORWARD_OPTIONS_H_
#define SKALD_MODEL_FORWARD_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

/// The rows of a pass between two blocks. Valid during the call that gets it. A block is what reads the stream,
/// computes and adds (layers/model_spec.h): of most models half a layer, attention or feed-forward.
struct ResidualStream {
  size_t block;                         ///< the block that reads them next, from 0; the number of blocks: the head
  size_t layer;                         ///< that checkpoints count the block to; the number of layers: the head
  std::span<const int32_t> tokens;      ///< [rows]
  std::span<const uint32_t> positions;  ///< [rows], within the sequence
  std::span<const uint32_t> sequences;  ///< [rows], index in the batch
  std::span<float> values;              ///< [rows, model_dim]; what is written here is what the model goes on with

  /// Rows of the pass.
  size_t rows() const { return tokens.size(); }
  /// Row `i`, [model_dim].
  std::span<float> row(size_t i) const;
};

/// Called by the thread that called Forward, with denormals flushed to zero as in the model's own arithmetic. An
/// exception fails the call, like an executor's. It must not use the workspace of the call.
using Observer = std::function<void(const ResidualStream&)>;

struct ForwardOptions {
  /// Tokens computed at a time, over all sequences of the batch: bounds the activations' memory. Changes speed, never a
  /// result.
  uint32_t pass_tokens = 512;
  /// Sees, and may change, the residual stream of every pass before each block and before the head. Watching changes
  /// nothing; a changed row changes what follows from it in its own sequence. The caches' state then no longer follows
  /// from their tokens alone; the caller must take care if it saves or shares them.
  Observer observer = {};
  /// The adapters that the batch's caches are for (KVCache::adapter), among any others: alive until the call returns.
  /// Each cache says by which of them, if any, its rows are computed.
  std::vector<const Adapter*> adapters = {};
  /// The ranks that compute the model with this one, which makes the same call: needed where the weights are one rank's
  /// part, ignored otherwise. Alive until the call returns.
  const CommunicatorRef* ranks = nullptr;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/forward_options.h"
#endif

#endif  // SKALD_MODEL_FORWARD_OPTIONS_H_
