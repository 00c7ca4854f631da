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
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/table_bytes.h"
#include "skald/cache/steps/plan_check.h"
#include "skald/cache/steps/step_plan.h"

namespace skald {

namespace internal {

inline constexpr ByteFormat kPlanFormat = {.magic = 0x50534B53, .version = 2, .name = "step plan"};  // "SKSP"

// The structs are written as they lie in memory.
template <class... T>
inline constexpr bool kHaveNoGaps = (std::has_unique_object_representations_v<T> && ...);
static_assert(kHaveNoGaps<StateSave, BlockCopy, BlockClear, TokenMove, PassSlice, Want>);

inline void PutSequence(ByteWriter& writer, const SequencePlan& sequence) {
  writer.Put(sequence.pool);
  writer.Put(sequence.first_position);
  writer.Put(sequence.num_tokens);
  writer.Put(sequence.adapter);
  writer.PutList(std::span(sequence.wants));
  PutGroups(writer, sequence.groups);
  writer.PutList(std::span(sequence.saves));
  writer.PutList(std::span(sequence.copies));
  writer.PutList(std::span(sequence.clears));
  writer.PutList(std::span(sequence.moves));
}

inline SequencePlan GetSequence(ByteReader& reader) {
  SequencePlan sequence;
  sequence.pool = reader.Get<uint32_t>();
  sequence.first_position = reader.Get<uint32_t>();
  sequence.num_tokens = reader.Get<uint32_t>();
  sequence.adapter = reader.Get<Sha256Digest>();
  sequence.wants = reader.GetList<Want>();
  sequence.groups = GetGroups(reader);
  sequence.saves = reader.GetList<StateSave>();
  sequence.copies = reader.GetList<BlockCopy>();
  sequence.clears = reader.GetList<BlockClear>();
  sequence.moves = reader.GetList<TokenMove>();
  return sequence;
}

inline StepPlan GetPlan(ByteReader& reader) {
  constexpr size_t kLeastSequence = 3 * sizeof(uint32_t) + sizeof(Sha256Digest) + 6 * sizeof(uint64_t);
  StepPlan plan;
  plan.model = reader.Get<uint64_t>();
  plan.block_tokens = reader.Get<uint32_t>();
  for (size_t left = reader.GetCount(kLeastSequence); left > 0 && reader.ok(); --left) {
    plan.sequences.push_back(GetSequence(reader));
  }
  for (size_t left = reader.GetCount(sizeof(uint64_t)); left > 0 && reader.ok(); --left) {
    plan.passes.push_back(reader.GetList<PassSlice>());
  }
  return plan;
}

}  // namespace internal

// Returns the plan as bytes. It must have its blocks (Step::Reserve). Error: kResourceExhausted.
inline Result<std::vector<std::byte>> StepPlanToBytes(const StepPlan& plan) {
  return NoThrow("StepPlanToBytes", [&]() -> Result<std::vector<std::byte>> {
    ByteWriter writer;
    internal::PutHeader(writer, internal::kPlanFormat);
    writer.Put(plan.model);
    writer.Put(plan.block_tokens);
    writer.Put(uint64_t{plan.sequences.size()});
    for (const SequencePlan& sequence : plan.sequences) internal::PutSequence(writer, sequence);
    writer.Put(uint64_t{plan.passes.size()});
    for (const Pass& pass : plan.passes) writer.PutList(std::span(pass));
    return writer.bytes();
  });
}

// Returns the plan that `bytes` hold, for `pool`. Errors: kDataLoss (bytes that are no plan, or a plan that cannot be
// carried out there, as CheckStepPlan says), kUnsupported (another version), kResourceExhausted.
inline Result<StepPlan> StepPlanFromBytes(std::span<const std::byte> bytes, const BlockPool& pool) {
  return NoThrow("StepPlanFromBytes", [&]() -> Result<StepPlan> {
    ByteReader reader(bytes);
    if (auto header = internal::CheckHeader(reader, internal::kPlanFormat); !header) return Failure(header.error());
    StepPlan plan = internal::GetPlan(reader);
    if (!reader.Finished()) return internal::FailDamaged(internal::kPlanFormat);
    if (auto fits = CheckStepPlan(plan, pool); !fits) return Failure(fits.error());
    return plan;
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_STEP_PLAN_BYTES_H_
