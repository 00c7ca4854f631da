// SPDX-License-Identifier: Apache-2.0
//
// Explorer: reads bytes with a GrammarAutomaton. A reading of the text so far is a stack of states; all readings
// together are a Readings, plain data that says everything that a text's future depends on. An explorer numbers those
// that it has met and remembers what each byte makes of them, as long as it does not begin anew. One thread at a time;
// any explorer of an automaton gives the same answers, and counts the same work for the same questions since Begin.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_EXPLORER_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_EXPLORER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "skald/text/filters/grammar/automaton.h"
#include "skald/text/filters/grammar/limits.h"

namespace skald::internal {

// Whether the text may end (1 or 0); then of each reading that can go on, in order, the number of its states and the
// states from the lowest to the highest.
using Readings = std::vector<uint32_t>;
using Reading = std::span<const uint32_t>;  // the states of one

inline size_t HashOf(std::span<const uint32_t> words) {
  uint64_t hash = words.size();
  for (const uint32_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}
struct HashReadings {
  size_t operator()(const Readings& readings) const { return HashOf(readings); }
};

// Calls tell(reading) for each.
template <class Tell>
void ForEachReading(const Readings& readings, const Tell& tell) {
  for (size_t at = 1; at < readings.size(); at += 1 + readings[at]) tell(Reading(&readings[at + 1], readings[at]));
}

// The readings that a single one is.
inline Readings OnlyReading(Reading reading) {
  Readings readings = {0, static_cast<uint32_t>(reading.size())};
  readings.insert(readings.end(), reading.begin(), reading.end());
  return readings;
}

class Explorer {
 public:
  // `automaton` must outlive this.
  explicit Explorer(const GrammarAutomaton& automaton) : automaton_(automaton) { Begin(kMaxMaskWork); }

  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  static constexpr uint32_t kDead = 0;  // the number of no reading at all

  // Forgets everything, numbers too, and begins to count its work, which `most` is the limit of.
  void Begin(size_t most) {
    numbers_.clear();
    known_.clear();
    next_.clear();
    bytes_ = work_ = 0;
    most_ = most;
    overflow_ = false;
    known_.push_back({&kNone, 0, false});
    next_.assign(automaton_.classes(), kDead);
  }

  // Whether there were more readings side by side, or more memory or work was needed, than there may be, since Begin.
  // Answers and numbers since then mean nothing.
  bool has_overflowed() const { return overflow_; }

  // About the memory that it takes.
  size_t bytes() const { return bytes_; }

  // Words of readings that were looked at since Begin.
  size_t work() const { return work_; }
  void AddWork(size_t work) {
    work_ += work;
    overflow_ = overflow_ || work_ > most_;
  }

  uint32_t NumberOf(Readings readings) {
    if (readings == kNone) return kDead;
    const auto [entry, is_new] = numbers_.try_emplace(std::move(readings), static_cast<uint32_t>(known_.size()));
    if (is_new) {
      known_.push_back({&entry->first, 0, entry->first[0] != 0});
      ForEachReading(entry->first, [&](Reading reading) {
        const auto deepest = static_cast<uint32_t>(reading.size()) + automaton_.need(reading.back());
        known_.back().depth = std::max(known_.back().depth, deepest);
      });
      next_.resize(next_.size() + automaton_.classes(), kUnknown);
      bytes_ += entry->first.size() * sizeof(uint32_t) + automaton_.classes() * sizeof(uint32_t) + kEntryBytes;
      AddWork(entry->first.size() + automaton_.classes() / 4);
    }
    return entry->second;
  }
  const Readings& at(uint32_t number) const { return *known_[number].readings; }
  bool IsComplete(uint32_t number) const { return known_[number].is_complete; }
  // The calls within calls of its readings, and those that they take to their ends.
  uint32_t Depth(uint32_t number) const { return known_[number].depth; }

  // Where the root rule begins.
  uint32_t Start() {
    const uint32_t start[] = {GrammarAutomaton::kRoot};
    Open(start);
    return Close();
  }

  // What is left of a reading once its highest state has come to the end of its rule.
  uint32_t Behind(Reading reading) {
    Open(reading.first(reading.size() - 1));
    return Close();
  }

  uint32_t Next(uint32_t number, uint8_t byte) {
    const size_t row = number * automaton_.classes(), byte_class = automaton_.class_of(byte);
    if (next_[row + byte_class] == kUnknown) {
      ByteInterval alike = {0, 255};
      const uint32_t next = Step(number, byte, alike);
      const size_t first = automaton_.class_of(alike.first), last = automaton_.class_of(alike.last);
      for (size_t each = first; each <= last; ++each) next_[row + each] = next;
    }
    return next_[row + byte_class];
  }

  // Reads bytes one after the other.
  uint32_t Read(uint32_t number, std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) {
      if (number == kDead) break;
      number = Next(number, byte);
    }
    return number;
  }

 private:
  static constexpr uint32_t kUnknown = ~uint32_t{0};
  static constexpr size_t kEntryBytes = 128;  // about what an entry of the tables takes besides
  static inline const Readings kNone = {0};

  struct Known {
    const Readings* readings;
    uint32_t depth;
    bool is_complete;
  };

  // Narrows `alike` to bytes around `byte` with which all goes the same way.
  uint32_t Step(uint32_t number, uint8_t byte, ByteInterval& alike) {
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
    return Close();
  }

  // Stacks that are worked on lie one behind the other.
  struct Stack {
    size_t begin, size;
  };
  Reading StatesOf(const Stack& stack) const { return Reading(states_).subspan(stack.begin, stack.size); }
  void Open(Reading states) {
    const size_t begin = states_.size();
    states_.resize(begin + states.size());
    std::copy(states.begin(), states.end(), states_.begin() + static_cast<std::ptrdiff_t>(begin));
    stacks_.push_back({begin, states.size()});
    AddWork(1 + states.size());
  }
  void OpenCopy(const Stack& stack, size_t size) {
    const size_t begin = states_.size();
    states_.resize(begin + size);
    std::copy_n(states_.begin() + static_cast<std::ptrdiff_t>(stack.begin), size,
                states_.begin() + static_cast<std::ptrdiff_t>(begin));
    stacks_.push_back({begin, size});
    AddWork(1 + size);
  }

  // Follows calls and ends of rules until all readings wait for a byte, and numbers them.
  uint32_t Close() {
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
    return Number(is_complete);
  }

  bool WasMet(size_t index) {
    constexpr size_t kFew = 16;
    if (index < kFew) {
      const Reading states = StatesOf(stacks_[index]);
      const auto is_same = [&](const Stack& other) { return std::ranges::equal(StatesOf(other), states); };
      return std::any_of(stacks_.begin(), stacks_.begin() + static_cast<std::ptrdiff_t>(index), is_same);
    }
    for (size_t i = 0; seen_.size() < kFew && i < kFew; ++i) seen_.insert(i);
    return !seen_.insert(index).second;
  }

  void Enter(const Stack& stack, const CallEdge& call) {
    const uint32_t inside = automaton_.need(call.rule), behind = automaton_.need(call.back);
    if (inside == GrammarAutomaton::kNeverEnds || behind == GrammarAutomaton::kNeverEnds) return;
    const bool returns = !automaton_.is_last(call.back);  // else whoever called this rule goes on
    const size_t size = stack.size + (returns ? 1 : 0);
    if (size + inside > kMaxGrammarDepth || (returns && stack.size + behind > kMaxGrammarDepth)) return;
    OpenCopy(stack, stack.size - 1);
    if (returns) states_.push_back(call.back);
    states_.push_back(call.rule);
    stacks_.back().size = size;
  }

  uint32_t Number(bool is_complete) {
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
    if (bytes_ > kMaxExploredBytes) overflow_ = true;
    return overflow_ ? kDead : NumberOf(std::move(readings));
  }

  const GrammarAutomaton& automaton_;
  std::unordered_map<Readings, uint32_t, HashReadings> numbers_;
  std::vector<Known> known_;    // by number
  std::vector<uint32_t> next_;  // by number and class of a byte
  size_t bytes_ = 0, work_ = 0, most_ = 0;
  bool overflow_ = false;

  std::vector<uint32_t> states_;
  std::vector<Stack> stacks_, waiting_;
  // Indices of stacks_ that were met, each reading once, where they are not few.
  struct HashStack {
    const Explorer* owner;
    size_t operator()(size_t index) const { return HashOf(owner->StatesOf(owner->stacks_[index])); }
  };
  struct SameStack {
    const Explorer* owner;
    bool operator()(size_t a, size_t b) const {
      return std::ranges::equal(owner->StatesOf(owner->stacks_[a]), owner->StatesOf(owner->stacks_[b]));
    }
  };
  std::unordered_set<size_t, HashStack, SameStack> seen_{16, HashStack{this}, SameStack{this}};
};

}  // namespace skald::internal

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_EXPLORER_H_
