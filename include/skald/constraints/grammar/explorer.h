// SPDX-License-Identifier: Apache-2.0
//
// Explorer: reads bytes with a GrammarAutomaton. A reading of the text so far is a stack of states; all readings
// together are a Readings, plain data that says everything that a text's future depends on. An explorer numbers those
// that it has met and remembers what each byte makes of them. One thread at a time; any explorer of an automaton gives
// the same answers, and counts the same work for the same questions since Begin, whatever it has kept from before.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_EXPLORER_H_
#define SKALD_CONSTRAINTS_GRAMMAR_EXPLORER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "skald/constraints/grammar/automaton.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/rule_graph.h"

namespace skald::internal {

/// Whether the text may end (1 or 0); then of each reading that can go on, in order, the number of its states and the
/// states from the lowest to the highest.
using Readings = std::vector<uint32_t>;
using Reading = std::span<const uint32_t>;  ///< the states of one

size_t HashOf(std::span<const uint32_t> words);
struct HashReadings {
  size_t operator()(const Readings& readings) const { return HashOf(readings); }
};

/// Calls tell(reading) for each.
template <class Tell>
void ForEachReading(const Readings& readings, const Tell& tell) {
  for (size_t at = 1; at < readings.size(); at += 1 + readings[at]) tell(Reading(&readings[at + 1], readings[at]));
}

/// The readings that a single one is.
Readings OnlyReading(Reading reading);

class Explorer {
 public:
  // `automaton` must outlive this.
  explicit Explorer(const GrammarAutomaton& automaton);

  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  static constexpr uint32_t kDead = 0;  ///< the number of no reading at all

  /// Begins to count its work, which `most` is the limit of, as if nothing were known. Numbers from before mean nothing
  /// any more.
  void Begin(size_t most);

  /// Whether there were more readings side by side, or more memory or work was needed, than there may be, since Begin.
  /// Answers and numbers since then mean nothing.
  bool has_overflowed() const { return overflow_; }

  /// About the memory that it takes.
  size_t bytes() const { return bytes_; }

  /// Words of readings that were looked at since Begin.
  size_t work() const { return work_; }
  void AddWork(size_t work);

  uint32_t NumberOf(Readings readings);
  const Readings& at(uint32_t number) const { return *known_[number].readings; }
  bool IsComplete(uint32_t number) const { return known_[number].is_complete; }
  /// The calls within calls of its readings, and those that they take to their ends.
  uint32_t Depth(uint32_t number) const { return known_[number].depth; }

  /// Where the root rule begins.
  uint32_t Start();

  /// The rest of a reading once its highest state has come to the end of its rule.
  uint32_t Behind(Reading reading);

  uint32_t Next(uint32_t number, uint8_t byte);

  /// Reads bytes one after the other.
  uint32_t Read(uint32_t number, std::span<const uint8_t> bytes);

 private:
  static constexpr uint32_t kUnknown = ~uint32_t{0};
  static constexpr size_t kEntryBytes = 128;  ///< about what an entry of the tables takes besides
  static inline const Readings kNone = {0};

  /// `round`: the last in which it was met. A first meeting in a round costs the work of finding it out, though it may
  /// be known.
  struct Known {
    const Readings* readings;
    uint32_t depth;
    bool is_complete;
    uint32_t round;
  };
  struct Step {
    uint32_t next;
    uint32_t work;
    uint32_t round;
  };

  void Forget();

  /// A step that is not known.
  uint32_t Explore(uint32_t number, uint8_t byte);

  /// Opens what `byte` leads to. Narrows `alike` to bytes around it with which all goes the same way.
  void OpenAfter(uint32_t number, uint8_t byte, ByteInterval& alike);

  void Meet(uint32_t number);
  size_t BytesOf(const Readings& readings) const;

  /// Stacks that are worked on follow each other.
  struct Stack {
    size_t begin, size;
  };
  Reading StatesOf(const Stack& stack) const { return Reading(states_).subspan(stack.begin, stack.size); }
  void Open(Reading states);
  void OpenCopy(const Stack& stack, size_t size);

  /// Follows calls and ends of rules until all readings wait for a byte, and returns these.
  Readings Close();
  uint32_t Numbered(Readings readings) { return overflow_ ? kDead : NumberOf(std::move(readings)); }

  bool WasMet(size_t index);

  void Enter(const Stack& stack, const CallEdge& call);

  Readings TakeWaiting(bool is_complete);

  const GrammarAutomaton& automaton_;
  std::unordered_map<Readings, uint32_t, HashReadings> numbers_;
  std::vector<Known> known_;  ///< by number
  std::vector<Step> steps_;
  std::vector<uint32_t> step_of_;               ///< by number and class of a byte
  size_t bytes_ = 0;                            ///< of all that is known
  uint32_t round_ = 0;                          ///< of Begin
  size_t met_bytes_ = 0, work_ = 0, most_ = 0;  ///< since Begin
  bool overflow_ = false;

  std::vector<uint32_t> states_;
  std::vector<Stack> stacks_, waiting_;
  /// Indices of stacks_ that were met, each reading once, where they are not few.
  struct HashStack {
    const Explorer* owner;
    size_t operator()(size_t index) const { return HashOf(owner->StatesOf(owner->stacks_[index])); }
  };
  struct SameStack {
    const Explorer* owner;
    bool operator()(size_t a, size_t b) const;
  };
  std::unordered_set<size_t, HashStack, SameStack> seen_{16, HashStack{this}, SameStack{this}};
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/explorer.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_EXPLORER_H_
