// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/steps/step_plan_bytes.h.

#ifndef SKALD_CACHE_STEPS_DETAIL_STEP_PLAN_BYTES_H_
#define SKALD_CACHE_STEPS_DETAIL_STEP_PLAN_BYTES_H_

#include "skald/cache/steps/step_plan_bytes.h"

#include <cstdint>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/numbers/digest.h"
#include "skald/cache/blocks/detail/table_bytes.h"
#include "skald/cache/steps/plan_check.h"

namespace skald {

namespace internal {

inline constexpr ByteFormat kPlanFormat = {.magic = 0x50534B53, .version = 2, .name = "step plan"};  // "SKSP"

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

SKALD_INLINE Result<std::vector<std::byte>> StepPlanToBytes(const StepPlan& plan) {
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

SKALD_INLINE Result<StepPlan> StepPlanFromBytes(std::span<const std::byte> bytes, const BlockPool& pool) {
  return NoThrow("StepPlanFromBytes", [&]() -> Result<StepPlan> {
    ByteReader reader(bytes);
    SKALD_TRY(internal::CheckHeader(reader, internal::kPlanFormat));
    StepPlan plan = internal::GetPlan(reader);
    if (!reader.Finished()) return internal::FailDamaged(internal::kPlanFormat);
    SKALD_TRY(CheckStepPlan(plan, pool));
    return plan;
  });
}

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_DETAIL_STEP_PLAN_BYTES_H_
