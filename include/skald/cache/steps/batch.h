// SPDX-License-Identifier: Apache-2.0
//
// Batch: the tokens of one or more conversations for one step, and the wanted output of each (Want). It refers to
// caches and tokens that the caller keeps alive until the step is done.

#ifndef SKALD_CACHE_STEPS_BATCH_H_
#define SKALD_CACHE_STEPS_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/step_plan.h"

namespace skald {

/// Tokens to append to one cache.
struct StepRequest {
  KVCache* cache;                   ///< not owned; not null
  std::span<const int32_t> tokens;  ///< ids; not owned: they must stay until the step is planned
};

class Batch {
 public:
  /// Appends `tokens` to the conversation in `cache`; `last` is the Want of the last of them.
  Batch& Add(KVCache& cache, std::span<const int32_t> tokens, Want last = Want::kLogits);

  /// The same with a Want for each token: `wants` must be as long as `tokens` (the step is refused otherwise).
  Batch& Add(KVCache& cache, std::span<const int32_t> tokens, std::span<const Want> wants);

  /// In the order in which they were added.
  std::span<const StepRequest> requests() const { return requests_; }
  /// All wants, and those of one request, one for each of its tokens.
  std::span<const Want> wants() const { return wants_; }
  /// The wanted output of each token of a request.
  std::span<const Want> wants(size_t request) const;

  /// False if memory ran out while something was added; such a batch is refused.
  bool is_complete() const { return is_complete_; }

 private:
  template <class Function>
  Batch& Append(Function function);

  void Begin(KVCache& cache, std::span<const int32_t> tokens);

  std::vector<StepRequest> requests_;
  std::vector<size_t> first_wants_;  ///< [requests], where the wants of each begin
  std::vector<Want> wants_;
  bool is_complete_ = true;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/steps/detail/batch.h"
#endif

#endif  // SKALD_CACHE_STEPS_BATCH_H_
