// SPDX-License-Identifier: Apache-2.0
//
// Drafter: guesses which tokens come next. The engine computes guesses together with the token before them and keeps
// those that equal its own draws (speculative decoding: Leviathan et al., arXiv:2211.17192, with draws that depend on
// the position alone in place of its acceptance rule). So a wrong guess costs time and changes nothing, and a drafter
// of your own may guess in any way.

#ifndef SKALD_ENGINE_REQUESTS_DRAFTER_H_
#define SKALD_ENGINE_REQUESTS_DRAFTER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/sampling/settings.h"

namespace skald {

/// One text that goes on.
struct DraftTask {
  uint64_t sequence;                 ///< names it, for drafters that remember
  std::span<const int32_t> tokens;   ///< all of it, prompt included
  const SamplerSettings* sampler;    ///< by which the text's own tokens are drawn
  uint32_t most;                     ///< guesses wanted at most, at least 1
  std::vector<int32_t> drafts = {};  ///< to be filled; may stay empty
};

/// Used by one thread at a time.
class Drafter {
 public:
  virtual ~Drafter() = default;

  /// Fills DraftTask::drafts of each. An error costs the guesses, and nothing else.
  virtual Result<void> Draft(std::span<DraftTask> tasks) = 0;

  /// The sequence is at its end, or sleeps: what is remembered of it can go.
  virtual void Forget(uint64_t /*sequence*/) {}
};

}  // namespace skald

#endif  // SKALD_ENGINE_REQUESTS_DRAFTER_H_
