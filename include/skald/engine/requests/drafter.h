// SPDX-License-Identifier: Apache-2.0
//
// Drafter: guesses which tokens come next. The engine computes guesses together with the token before them and keeps
// those that equal its own draws (speculative decoding: Leviathan et al., arXiv:2211.17192, with draws that depend on
// the position alone in place of its acceptance rule). So a wrong guess costs time and changes nothing, and a drafter
// of your own may guess in any way.
//
// A drafter may also read what the model computes: the rows of the residual stream at places that it names, and the
// caches of the texts.

#ifndef SKALD_ENGINE_REQUESTS_DRAFTER_H_
#define SKALD_ENGINE_REQUESTS_DRAFTER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/sampling/settings.h"

namespace skald {

/// Rows of the residual stream that the last step computed of a text.
struct StreamRows {
  uint32_t begin = 0;                  ///< position of the first
  std::span<const float> values = {};  ///< [rows, places * model_dim]: of each token, the places side by side
};

/// One text that goes on.
struct DraftTask {
  uint64_t sequence;                ///< names it, for drafters that remember
  std::span<const int32_t> tokens;  ///< all of it, prompt included
  const SamplerSettings* sampler;   ///< by which the text's own tokens are drawn
  uint32_t most;                    ///< guesses wanted at most; 0 only if there are rows to be read
  StreamRows rows = {};             ///< for a drafter that watches places; valid during the call
  /// What the model keeps of the text, which may be a beginning of it; null if nothing. Valid during the call.
  const KVCache* cache = nullptr;
  std::vector<int32_t> drafts = {};  ///< to be filled; may stay empty
};

/// Used by one thread at a time.
class Drafter {
 public:
  virtual ~Drafter() = default;

  /// The places of the residual stream that DraftTask::rows are of: numbers of the blocks that read it there
  /// (StreamBefore). The same on each call. Without any nothing is read, and nothing is kept. A step's rows are told
  /// once, in the order of their positions. Some may be missing, where a text began with what was computed before.
  virtual std::span<const size_t> Watches() const { return {}; }

  /// More guesses of a text are hardly ever right.
  virtual uint32_t MostDrafts() const { return std::numeric_limits<uint32_t>::max(); }

  /// Fills DraftTask::drafts of each. An error costs the guesses, and nothing else.
  virtual Result<void> Draft(std::span<DraftTask> tasks) = 0;

  /// The sequence is at its end, or sleeps: what is remembered of it can go.
  virtual void Forget(uint64_t /*sequence*/) {}
};

}  // namespace skald

#endif  // SKALD_ENGINE_REQUESTS_DRAFTER_H_
