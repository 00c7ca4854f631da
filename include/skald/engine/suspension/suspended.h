// SPDX-License-Identifier: Apache-2.0
//
// Unfinished requests as bytes, so that another process can go on with them: what was asked, and which tokens were
// drawn; everything else follows from these. Caches are in a store, and only spare time. Times are written as ages, for
// clocks differ.

#ifndef SKALD_ENGINE_SUSPENSION_SUSPENDED_H_
#define SKALD_ENGINE_SUSPENSION_SUSPENDED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/token_filter.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/suspension/swap_space.h"
#include "skald/sampling/token_sampler.h"

namespace skald {

/// One sample of a request, as it is written down.
struct SuspendedSample {
  uint32_t sample = 0;                       ///< index among Request::samples
  std::vector<int32_t> drawn = {};           ///< token ids of its answer
  uint32_t scored = 0;                       ///< tokens of the prompt whose log-probabilities were told
  Usage usage = {};                          ///< so far
  std::optional<SwappedCache> swapped = {};  ///< its cache, if the store has it; else it is computed again
};

/// A request, as it is written down: without what only a program has.
struct SuspendedRequest {
  RequestId id = 0;                           ///< kept where it is resumed
  Request request = {};                       ///< without filter and own_sampler
  bool has_filter = false;                    ///< Request::filter: a FilterMaker must make it again
  bool has_sampler = false;                   ///< Request::own_sampler
  uint32_t max_tokens = 0;                    ///< of each answer, as they were worked out
  std::vector<SuspendedSample> samples = {};  ///< those that are not finished
};

/// All that an engine takes out.
struct Suspended {
  RequestId next_id = 0;                        ///< no request has had this number yet, nor one above; 0: not known
  std::vector<SuspendedRequest> requests = {};  ///< in the order in which they came
};

/// Makes the filter of a request again, from the note in it, say.
using FilterMaker = std::function<Result<std::shared_ptr<const TokenFilter>>(const Request&)>;

/// Makes Request::own_sampler again, likewise.
using SamplerMaker = std::function<Result<AnySampler>(const Request&)>;

namespace internal {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace internal

/// `now` is the time on the engine's clock.
Result<std::vector<std::byte>> EncodeSuspended(const Suspended& suspended, double now);

/// Reads what earlier versions wrote, too. Error: kDataLoss for what EncodeSuspended did not write. The requests
/// themselves are not checked here.
Result<Suspended> DecodeSuspended(std::span<const std::byte> bytes, double now);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/suspension/detail/suspended.h"
#endif

#endif  // SKALD_ENGINE_SUSPENSION_SUSPENDED_H_
