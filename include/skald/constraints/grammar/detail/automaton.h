// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/automaton.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_H_

#include "skald/constraints/grammar/automaton.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/detail/automaton_analysis.h"
#include "skald/constraints/grammar/detail/automaton_making.h"
#include "skald/constraints/grammar/limits.h"

namespace skald {

namespace internal {

SKALD_INLINE std::span<const ByteEdge> GrammarAutomaton::bytes(uint32_t state) const {
  if (state >= size()) return {};
  return {bytes_.data() + states_[state].first_byte, states_[state].byte_edges};
}

SKALD_INLINE bool GrammarAutomaton::is_final(uint32_t state) const {
  if (state < size()) return states_[state].is_final;
  const CountedLoop& loop = LoopAt(state);
  return loop.IsFinal(state - loop.first);
}

SKALD_INLINE bool GrammarAutomaton::is_last(uint32_t state) const {
  if (state < size()) {
    return states_[state].is_final && states_[state].byte_edges == 0 && states_[state].call_edges == 0;
  }
  const CountedLoop& loop = LoopAt(state);
  return loop.IsLast(state - loop.first);
}

SKALD_INLINE uint32_t GrammarAutomaton::need(uint32_t state) const {
  if (state < size()) return states_[state].need;
  const CountedLoop& loop = LoopAt(state);
  return loop.NeedAt(state - loop.first, kNeverEnds);
}

SKALD_INLINE uint32_t GrammarAutomaton::Alike(uint32_t state, size_t bytes) const {
  if (state < size()) return state;
  const CountedLoop& loop = LoopAt(state);
  const auto steps = static_cast<uint32_t>(std::min<size_t>(bytes, kMostCount));  // each takes a byte
  return loop.first + loop.Alike(state - loop.first, steps);
}

SKALD_INLINE size_t GrammarAutomaton::memory() const {
  return states_.capacity() * sizeof(State) + bytes_.capacity() * sizeof(ByteEdge) +
         calls_.capacity() * sizeof(CallEdge);
}

SKALD_INLINE size_t GrammarAutomaton::EndOfClass(uint8_t byte) const {
  const size_t next = class_of(byte) + size_t{1};
  return next < classes() ? byte_of(next) : 256;
}

SKALD_INLINE std::span<const CallEdge> GrammarAutomaton::calls(uint32_t state) const {
  return {calls_.data() + states_[state].first_call, states_[state].call_edges};
}

SKALD_INLINE size_t GrammarAutomaton::LoopIndex(uint32_t state) const {
  const auto behind = std::upper_bound(loops_.begin(), loops_.end(), state,
                                       [](uint32_t at, const CountedLoop& loop) { return at < loop.first; });
  return static_cast<size_t>(behind - loops_.begin()) - 1;
}

SKALD_INLINE Result<GrammarAutomaton> GrammarAutomaton::GrammarAutomaton::Make(const Grammar& grammar) {
  GrammarAutomaton automaton;
  if (Result<void> added = automaton.AddRules(grammar); !added) return Failure(added.error());
  if (Result<void> checked = automaton.CheckLeftRecursion(grammar); !checked) return Failure(checked.error());
  automaton.FindNeeds();
  if (automaton.need(kRoot) == kNeverEnds) {
    return Fail(ErrorCode::kInvalidArgument,
                "the grammar allows no text: every way through it goes on forever or stops");
  }
  if (automaton.need(kRoot) >= kMaxGrammarDepth) {
    return Fail(ErrorCode::kUnsupported, Concat({"the shortest text of the grammar has more than ",
                                                 std::to_string(kMaxGrammarDepth), " calls of rules within calls"}));
  }
  automaton.FindByteClasses();
  return automaton;
}

SKALD_INLINE void GrammarAutomaton::FindByteClasses() {
  std::array<bool, 257> begins = {};
  begins[0] = true;
  for (const ByteEdge& edge : bytes_) begins[edge.bytes.first] = begins[edge.bytes.last + size_t{1}] = true;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (begins[byte]) byte_of_.push_back(static_cast<uint8_t>(byte));
    class_of_[byte] = static_cast<uint8_t>(byte_of_.size() - 1);
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_AUTOMATON_H_
