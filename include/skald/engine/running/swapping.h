// SPDX-License-Identifier: Apache-2.0
//
// Swapping: which caches are written to a store when their memory is needed, and how they come back.

#ifndef SKALD_ENGINE_RUNNING_SWAPPING_H_
#define SKALD_ENGINE_RUNNING_SWAPPING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/engine/form/engine_options.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/swap_space.h"

namespace skald {

class Swapping {
 public:
  explicit Swapping(const EngineOptions& options) : clock_(options.clock) {
    if (options.swap) space_.emplace(*options.swap, options.identity);
  }

  // Whether that is quicker than computing it again, by what both took so far.
  bool IsWorthWriting(const Sequence& sequence, const CostModel& cost) const {
    if (!space_) return false;
    if (!cost.is_known()) return true;
    // Written, and read again.
    return 2 * seconds_per_token_ * sequence.cache->size() < cost.Seconds(StepWork().With(0, sequence.cache->size()));
  }

  // Writes its cache down, which stays; where that fails, it will be computed again.
  void WriteDown(Sequence& sequence) noexcept {
    if (!space_ || sequence.cache->size() == 0) return;
    const double begin = clock_();
    auto written = space_->Write(*sequence.cache, sequence.request->tenant);
    if (!written) {
      ++failed_;
      return;
    }
    sequence.swapped = std::move(*written);
    ++written_;
    const double seconds = clock_() - begin;
    seconds_per_token_ += (seconds / sequence.swapped->tokens - seconds_per_token_) * kLearning;
  }

  // True where its cache is there again. What cannot be read is computed again; what finds no room waits, unless it
  // `is_alone`.
  bool BringBack(Sequence& sequence, const std::shared_ptr<BlockPool>& pool, bool is_alone) {
    auto cache = space_->Read(*sequence.swapped, pool, sequence.request->adapter, sequence.request->tenant);
    if (!cache && cache.error().code == ErrorCode::kResourceExhausted && !is_alone) return false;
    space_->Drop(*sequence.swapped);
    sequence.swapped.reset();
    if (!cache) {
      ++failed_;
      return false;
    }
    ++read_;
    sequence.cache = std::move(*cache);
    return true;
  }

  // It need not be written down any more.
  void Drop(Sequence& sequence) noexcept {
    if (sequence.swapped) space_->Drop(*sequence.swapped);
    sequence.swapped.reset();
  }

  // Takes over what another engine wrote down, if there is a store to read it from. Error: kResourceExhausted; then it
  // is not written down.
  Result<void> Adopt(Sequence& sequence) {
    if (!sequence.swapped) return {};
    const bool fits = space_ && sequence.swapped->tokens <= sequence.answer.size();
    auto adopted = fits ? space_->Adopt(sequence.swapped->chunks) : Result<void>();
    if (!fits || !adopted) sequence.swapped.reset();
    return adopted;
  }

  // Leaves what is written down to another engine.
  void Disown(Sequence& sequence) noexcept {
    if (sequence.swapped) space_->Disown(sequence.swapped->chunks);
    sequence.swapped.reset();
  }

  void CountIn(EngineStats& stats) const {
    stats.swapped_out = written_;
    stats.swapped_in = read_;
    stats.failed_swaps = failed_;
  }

 private:
  static constexpr double kLearning = 0.2;

  const Clock& clock_;
  std::optional<SwapSpace> space_;
  double seconds_per_token_ = 0.0;  // of writing
  uint64_t written_ = 0, read_ = 0, failed_ = 0;
};

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_SWAPPING_H_
