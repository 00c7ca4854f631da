// SPDX-License-Identifier: Apache-2.0
//
// StepPlan as bytes, for another process that has a pool of the same layout. Little-endian:
//
//   u32 magic, u32 version, u64 model, u32 block_tokens, u64 sequences,
//     for each: u32 pool, u32 first_position, u32 num_tokens, adapter (32 bytes), wants (u8 each), u64 groups,
//       for each: u32 first_token, blocks (u32 each);
//     saves, copies, clears, moves (each field u32, in the order of their structs);
//   u64 passes, for each: slices (u32 sequence, begin, end).
//
// Lists are a u64 of how many there are, then the elements. A change of any of that is a new version.

#ifndef SKALD_CACHE_STEPS_STEP_PLAN_BYTES_H_
#define SKALD_CACHE_STEPS_STEP_PLAN_BYTES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/steps/step_plan.h"

namespace skald {

namespace internal {

/// The structs are written as they are in memory.
template <class... T>
inline constexpr bool kHaveNoGaps = (std::has_unique_object_representations_v<T> && ...);
static_assert(kHaveNoGaps<StateSave, BlockCopy, BlockClear, TokenMove, PassSlice, Want>);

}  // namespace internal

/// Returns the plan as bytes. Reserve must have been called (Step::Reserve). Error: kResourceExhausted.
Result<std::vector<std::byte>> StepPlanToBytes(const StepPlan& plan);

/// Returns the plan that `bytes` hold, for `pool`. Errors: kDataLoss (bytes that are no plan, or a plan that cannot be
/// carried out there, as CheckStepPlan says), kUnsupported (another version), kResourceExhausted.
Result<StepPlan> StepPlanFromBytes(std::span<const std::byte> bytes, const BlockPool& pool);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/steps/detail/step_plan_bytes.h"
#endif

#endif  // SKALD_CACHE_STEPS_STEP_PLAN_BYTES_H_
