// SPDX-License-Identifier: Apache-2.0
//
// The parts and options of an engine, and its statistics. Plain data; everything that it refers to belongs to the
// caller and outlives the engine.

#ifndef SKALD_ENGINE_REQUESTS_ENGINE_OPTIONS_H_
#define SKALD_ENGINE_REQUESTS_ENGINE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/threads/background_queue.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/filter_workers.h"
#include "skald/engine/requests/request.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/identity.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

/// Seconds since some moment; never goes back.
using Clock = std::function<double()>;

double SteadySeconds();

/// Settings of an Engine. Pointers are not owned: what they point to must outlive the engine.
struct EngineOptions {
  uint32_t max_running = 64;   ///< conversations with a cache at a time; the samples of a request may exceed it
  uint32_t step_tokens = 512;  ///< rows of a step
  /// How long a step should take at most, so that a long prompt does not stop open streams; by what steps took so far.
  std::optional<double> step_seconds = {};
  PolicyOptions policy = {};    ///< which request goes first
  Clock clock = SteadySeconds;  ///< of deadlines, waiting and Usage

  const Tokenizer* tokenizer = nullptr;       ///< for text and stop strings
  std::vector<const Adapter*> adapters = {};  ///< that requests may name
  /// Of the engine's pool: each is for the requests of its adapter (PromptCache::adapter). Steps wait for the stores of
  /// one that has no queues (PromptCacheOptions::writer, reader).
  std::vector<PromptCache*> prompts = {};
  /// Do the long work of filters; a request whose filter is not ready sits out steps meanwhile. Without, steps do it.
  FilterWorkers* filter_workers = nullptr;
  Drafter* drafter = nullptr;  ///< guesses tokens ahead, for requests that allow drafts; null: no speculation
  /// Drafts in a step of one request. Windowed and recurrent models take RuntimeConfig::rewind_tokens if that is less.
  uint32_t max_drafts = 8;
  /// Where conversations wait that had to give their memory away; without, they are computed again. `identity` says
  /// whose state it is.
  std::optional<ChunkStoreRef> swap = {};
  Identity identity = {};  ///< of the model and its tokenizer; adapter and salt are each request's own
  /// Writes them there and reads them, so that no step waits for that store; until then they are in memory beside the
  /// pool, of at most so many bytes. Null: steps wait.
  BackgroundQueue* swapper = nullptr;
  uint64_t swap_bytes = uint64_t{1} << 30;  ///< bytes of staged caches; `swapper` alone uses it
  /// Seconds that a request waits, while others are computed, for what other threads read of it in stores; then it is
  /// computed too.
  double store_seconds = 2.0;

  /// The prompt cache for requests of an adapter, or null.
  PromptCache* PromptsOf(const Sha256Digest& adapter) const;
};

/// Counts of an engine.
struct EngineStats {
  uint64_t waiting = 0, running = 0;  ///< samples, now
  uint64_t fetching = 0;              ///< of those that wait: for a store
  uint64_t steps = 0, rows = 0;       ///< so far
  /// Drawn so far; guesses that were checked; those that were right.
  uint64_t generated_tokens = 0, drafted_tokens = 0, accepted_tokens = 0;
  uint64_t prompt_tokens = 0, cached_tokens = 0;  ///< of requests that began; those that were not computed for them
  /// Times so far that a request gave its memory away; caches written to EngineOptions::swap; caches read from it.
  uint64_t preemptions = 0, swapped_out = 0, swapped_in = 0;
  uint64_t failed_swaps = 0;  ///< computed again instead
};

/// The work of a step.
struct StepReport {
  std::vector<Event> events;  ///< in the order in which they came about, those of one sample in order
  uint64_t rows = 0;          ///< that were computed
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/requests/detail/engine_options.h"
#endif

#endif  // SKALD_ENGINE_REQUESTS_ENGINE_OPTIONS_H_
