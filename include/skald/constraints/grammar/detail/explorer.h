// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/explorer.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_EXPLORER_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_EXPLORER_H_

#include "skald/constraints/grammar/explorer.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/constraints/grammar/limits.h"

namespace skald {

namespace internal {

SKALD_INLINE size_t HashOf(std::span<const uint32_t> words) {
  uint64_t hash = words.size();
  for (const uint32_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

SKALD_INLINE Readings OnlyReading(Reading reading) {
  Readings readings = {0, static_cast<uint32_t>(reading.size())};
  readings.insert(readings.end(), reading.begin(), reading.end());
  return readings;
}

SKALD_INLINE Explorer::Explorer(const GrammarAutomaton& automaton) : automaton_(automaton) {
  Forget();
  Begin(kMaxMaskWork);
}

SKALD_INLINE void Explorer::Begin(size_t most) {
  if (++round_ == 0) Forget();  // no round is ever met again
  met_bytes_ = work_ = 0;
  most_ = most;
  overflow_ = false;
}

SKALD_INLINE void Explorer::Forget() {
  numbers_.clear();
  known_.clear();
  steps_.clear();
  step_of_.clear();
  bytes_ = 0;
  known_.push_back({&kNone, 0, false, 0});
  steps_.push_back({kDead, 0, 0});
  step_of_.assign(automaton_.classes(), 0);
}

SKALD_INLINE void Explorer::AddWork(size_t work) {
  work_ += work;
  overflow_ = overflow_ || work_ > most_;
}

SKALD_INLINE uint32_t Explorer::NumberOf(Readings readings) {
  if (readings == kNone) return kDead;
  const auto [entry, is_new] = numbers_.try_emplace(std::move(readings), static_cast<uint32_t>(known_.size()));
  if (is_new) {
    known_.push_back({&entry->first, 0, entry->first[0] != 0, round_ - 1});
    ForEachReading(entry->first, [&](Reading reading) {
      const auto deepest = static_cast<uint32_t>(reading.size()) + automaton_.need(reading.back());
      known_.back().depth = std::max(known_.back().depth, deepest);
    });
    step_of_.resize(step_of_.size() + automaton_.classes(), kUnknown);
    bytes_ += BytesOf(entry->first);
  }
  Meet(entry->second);
  return entry->second;
}

SKALD_INLINE size_t Explorer::BytesOf(const Readings& readings) const {
  return readings.size() * sizeof(uint32_t) + automaton_.classes() * sizeof(uint32_t) + kEntryBytes;
}

SKALD_INLINE void Explorer::Meet(uint32_t number) {
  Known& known = known_[number];
  if (number == kDead || std::exchange(known.round, round_) == round_) return;
  met_bytes_ += BytesOf(*known.readings);
  AddWork(known.readings->size() + automaton_.classes() / 4);
}

SKALD_INLINE uint32_t Explorer::Start() {
  const uint32_t start[] = {GrammarAutomaton::kRoot};
  Open(start);
  return Numbered(Close());
}

SKALD_INLINE uint32_t Explorer::Behind(Reading reading) {
  Open(reading.first(reading.size() - 1));
  return Numbered(Close());
}

SKALD_INLINE uint32_t Explorer::Next(uint32_t number, uint8_t byte) {
  if (number == kDead) return kDead;
  const uint32_t at = step_of_[number * automaton_.classes() + automaton_.class_of(byte)];
  if (at == kUnknown) return Explore(number, byte);
  Step& step = steps_[at];
  if (std::exchange(step.round, round_) == round_) return step.next;
  AddWork(step.work);
  overflow_ = overflow_ || met_bytes_ > kMaxExploredBytes;
  Meet(step.next);
  return step.next;
}

SKALD_INLINE uint32_t Explorer::Explore(uint32_t number, uint8_t byte) {
  const size_t work = work_;
  ByteInterval alike = {0, 255};
  OpenAfter(number, byte, alike);
  Readings readings = Close();
  const auto taken = static_cast<uint32_t>(work_ - work);
  if (overflow_) return kDead;
  const uint32_t next = NumberOf(std::move(readings));
  const size_t row = number * automaton_.classes();
  const auto from = step_of_.begin() + static_cast<std::ptrdiff_t>(row + automaton_.class_of(alike.first));
  const auto end = step_of_.begin() + static_cast<std::ptrdiff_t>(row + automaton_.class_of(alike.last) + 1);
  std::fill(from, end, static_cast<uint32_t>(steps_.size()));
  steps_.push_back({next, taken, round_});
  bytes_ += sizeof(Step);
  return next;
}

SKALD_INLINE uint32_t Explorer::Read(uint32_t number, std::span<const uint8_t> bytes) {
  for (const uint8_t byte : bytes) {
    if (number == kDead) break;
    number = Next(number, byte);
  }
  return number;
}

SKALD_INLINE void Explorer::OpenAfter(uint32_t number, uint8_t byte, ByteInterval& alike) {
  ForEachReading(at(number), [&](Reading reading) {
    for (const auto& [bytes, to] : automaton_.bytes(reading.back())) {
      if (bytes.first > byte) {
        alike.last = std::min(alike.last, static_cast<uint8_t>(bytes.first - 1));
      } else if (bytes.last < byte) {
        alike.first = std::max(alike.first, static_cast<uint8_t>(bytes.last + 1));
      } else {
        alike = {std::max(alike.first, bytes.first), std::min(alike.last, bytes.last)};
        if (automaton_.need(to) == GrammarAutomaton::kNeverEnds) continue;
        Open(reading);
        states_.back() = to;
      }
    }
  });
}

SKALD_INLINE void Explorer::Open(Reading states) {
  const size_t begin = states_.size();
  states_.resize(begin + states.size());
  std::copy(states.begin(), states.end(), states_.begin() + static_cast<std::ptrdiff_t>(begin));
  stacks_.push_back({begin, states.size()});
  AddWork(1 + states.size());
}

SKALD_INLINE void Explorer::OpenCopy(const Stack& stack, size_t size) {
  const size_t begin = states_.size();
  states_.resize(begin + size);
  std::copy_n(states_.begin() + static_cast<std::ptrdiff_t>(stack.begin), size,
              states_.begin() + static_cast<std::ptrdiff_t>(begin));
  stacks_.push_back({begin, size});
  AddWork(1 + size);
}

SKALD_INLINE Readings Explorer::Close() {
  bool is_complete = false;
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const Stack stack = stacks_[i];
    if (stack.size == 0) {
      is_complete = true;
      continue;
    }
    if (stacks_.size() > kMaxGrammarReadings) overflow_ = true;
    if (overflow_) break;
    if (WasMet(i)) continue;
    const uint32_t state = states_[stack.begin + stack.size - 1];
    if (!automaton_.bytes(state).empty()) waiting_.push_back(stack);
    if (automaton_.is_final(state)) OpenCopy(stack, stack.size - 1);
    automaton_.ForEachCall(state, [&](const CallEdge& call) { Enter(stack, call); });
  }
  return TakeWaiting(is_complete);
}

SKALD_INLINE bool Explorer::WasMet(size_t index) {
  constexpr size_t kFew = 16;
  if (index < kFew) {
    const Reading states = StatesOf(stacks_[index]);
    const auto is_same = [&](const Stack& other) { return std::ranges::equal(StatesOf(other), states); };
    return std::any_of(stacks_.begin(), stacks_.begin() + static_cast<std::ptrdiff_t>(index), is_same);
  }
  for (size_t i = 0; seen_.size() < kFew && i < kFew; ++i) seen_.insert(i);
  return !seen_.insert(index).second;
}

SKALD_INLINE void Explorer::Enter(const Stack& stack, const CallEdge& call) {
  const uint32_t inside = automaton_.need(call.rule), behind = automaton_.need(call.back);
  if (inside == GrammarAutomaton::kNeverEnds || behind == GrammarAutomaton::kNeverEnds) return;
  const bool returns = !automaton_.is_last(call.back);  // else the rule that called this one continues
  const size_t size = stack.size + (returns ? 1 : 0);
  if (size + inside > kMaxGrammarDepth || (returns && stack.size + behind > kMaxGrammarDepth)) return;
  OpenCopy(stack, stack.size - 1);
  if (returns) states_.push_back(call.back);
  states_.push_back(call.rule);
  stacks_.back().size = size;
}

SKALD_INLINE Readings Explorer::TakeWaiting(bool is_complete) {
  std::sort(waiting_.begin(), waiting_.end(), [this](const Stack& a, const Stack& b) {
    return std::ranges::lexicographical_compare(StatesOf(a), StatesOf(b));
  });
  Readings readings = {is_complete ? 1u : 0u};
  for (const Stack& stack : waiting_) {
    readings.push_back(static_cast<uint32_t>(stack.size));
    const Reading states = StatesOf(stack);
    readings.insert(readings.end(), states.begin(), states.end());
  }
  if (!seen_.empty()) seen_.clear();
  states_.clear();
  stacks_.clear();
  waiting_.clear();
  overflow_ = overflow_ || met_bytes_ > kMaxExploredBytes;
  return readings;
}

SKALD_INLINE bool Explorer::SameStack::operator()(size_t a, size_t b) const {
  return std::ranges::equal(owner->StatesOf(owner->stacks_[a]), owner->StatesOf(owner->stacks_[b]));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_EXPLORER_H_
