// SPDX-License-Identifier: Apache-2.0
//
// Unfinished requests as bytes, so that another process can go on with them: what was asked, and which tokens were
// drawn; everything else follows from these. Caches are in a store, and only spare time. Times are written as ages, for
// clocks differ.

#ifndef SKALD_ENGINE_RUNNING_SUSPENDED_H_
#define SKALD_ENGINE_RUNNING_SUSPENDED_H_

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
#include "skald/engine/running/swap_space.h"
#include "skald/sampling/token_sampler.h"

namespace skald {

struct SuspendedSample {
  uint32_t sample = 0;
  std::vector<int32_t> drawn = {};
  uint32_t scored = 0;  ///< tokens of the prompt whose log-probabilities were told
  Usage usage = {};
  std::optional<SwappedCache> swapped = {};
};

struct SuspendedRequest {
  RequestId id = 0;
  Request request = {};
  bool has_filter = false;
  bool has_sampler = false;  ///< Request::own_sampler
  uint32_t max_tokens = 0;   ///< of each answer, as they were worked out
  std::vector<SuspendedSample> samples = {};
};

/// All that an engine takes out.
struct Suspended {
  RequestId next_id = 0;  ///< no request has had this number yet, nor one above; 0: not known
  std::vector<SuspendedRequest> requests = {};
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
#include "skald/engine/running/detail/suspended.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SUSPENDED_H_
