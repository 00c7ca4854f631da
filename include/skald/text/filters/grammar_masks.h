// SPDX-License-Identifier: Apache-2.0
//
// GrammarMasks: a grammar and a vocabulary, and for readings of the grammar which tokens may follow. Immutable but for
// what it remembers; safe for concurrent calls.
//
// Most tokens come to an end, or fail, within the rule that a reading stands in, whatever called that rule. So masks
// are made of parts: what a state of a rule allows by itself is computed once, together with the beginnings of tokens
// that come to the rule's end; only these are followed in each reading anew. And where any characters may follow, as in
// strings, tokens of plain characters are not looked at one by one. Source: Dong et al., "XGrammar: flexible
// and efficient structured generation engine for large language models", 2024, section 3.1.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_MASKS_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_MASKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/text/filters/grammar/automaton.h"
#include "skald/text/filters/grammar/bounded_cache.h"
#include "skald/text/filters/grammar/explorer.h"
#include "skald/text/filters/grammar/grammar.h"
#include "skald/text/filters/token_vocabulary.h"

namespace skald::internal {

using Mask = std::vector<uint64_t>;

class GrammarMasks {
 public:
  // `vocabulary` must not be null. Errors: those of GrammarAutomaton::Make.
  static Result<std::shared_ptr<const GrammarMasks>> Make(const Grammar& grammar,
                                                          std::shared_ptr<const TokenVocabulary> vocabulary) {
    Result<GrammarAutomaton> automaton = GrammarAutomaton::Make(grammar);
    if (!automaton) return Failure(automaton.error());
    const std::shared_ptr<GrammarMasks> masks(new GrammarMasks(*std::move(automaton), std::move(vocabulary)));
    masks->ComputeLargeParts();
    return masks;
  }

  const TokenVocabulary& vocabulary() const { return *vocabulary_; }
  Readings Start() const {
    LentExplorer explorer(*this);
    return explorer->at(explorer->Start());
  }

  // Returns what `bytes` make of `readings`. Errors: more readings side by side than limits.h allows.
  Result<Readings> Read(const Readings& readings, std::string_view bytes) const {
    LentExplorer explorer(*this);
    uint32_t number = explorer->NumberOf(readings);
    for (const char byte : bytes) number = explorer->Next(number, static_cast<uint8_t>(byte));
    Readings next = explorer->at(number);
    if (explorer->TakeOverflow()) return TooAmbiguous();
    return next;
  }

  // Returns the tokens that may follow, tokens that end the text among them where it may end. Errors as of Read.
  Result<std::shared_ptr<const Mask>> MaskOf(const Readings& readings) const;

 private:
  // What one state of a rule allows by itself.
  struct Part {
    Mask bits;                    // the tokens that end within the rule, or where it ends
    std::vector<int32_t> ids;     // the same where they are few, and `bits` is empty
    std::vector<uint32_t> exits;  // nodes of the vocabulary at which the rule may end and tokens go on
    uint32_t depth = 0;           // calls within calls
    size_t visited = 0;           // nodes
  };

  // An explorer for one call; what it has learned is kept for the next one.
  class LentExplorer {
   public:
    explicit LentExplorer(const GrammarMasks& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      if (owner_.idle_.empty()) {
        explorer_ = std::make_unique<Explorer>(owner_.automaton_);
      } else {
        explorer_ = std::move(owner_.idle_.back());
        owner_.idle_.pop_back();
      }
      explorer_->ForgetIfLarge();
    }
    LentExplorer(const LentExplorer&) = delete;
    LentExplorer& operator=(const LentExplorer&) = delete;
    ~LentExplorer() {
      const std::lock_guard lock(owner_.mutex_);
      if (owner_.idle_.size() < owner_.idle_.capacity()) owner_.idle_.push_back(std::move(explorer_));
    }
    Explorer* operator->() const { return explorer_.get(); }
    Explorer& operator*() const { return *explorer_; }

   private:
    const GrammarMasks& owner_;
    std::unique_ptr<Explorer> explorer_;
  };

  GrammarMasks(GrammarAutomaton automaton, std::shared_ptr<const TokenVocabulary> vocabulary)
      : automaton_(std::move(automaton)), vocabulary_(std::move(vocabulary)) {
    constexpr size_t kMostIdle = 8;
    idle_.reserve(kMostIdle);
  }

  static Failure TooAmbiguous() {
    return Fail(ErrorCode::kResourceExhausted,
                "the grammar can read this text in more ways side by side than are followed (" +
                    std::to_string(kMaxGrammarReadings) + "), or in too many steps");
  }

  void ComputeLargeParts() const;
  std::shared_ptr<const Part> PartOf(uint32_t state, Explorer& explorer) const;
  std::optional<size_t> PlainCharacters(Explorer& explorer, uint32_t from, Part& part) const;
  std::vector<uint32_t> AfterPlain(Explorer& explorer, uint32_t from, Part& part, bool& some_fail) const;
  size_t BytesFrom(uint32_t state) const {
    size_t bytes = 0;
    for (const ByteEdge& edge : automaton_.bytes(state)) bytes += edge.bytes.last - edge.bytes.first + size_t{1};
    return bytes;
  }
  Result<std::shared_ptr<const Mask>> Compute(const Readings& readings) const;
  void AddReading(Reading reading, Explorer& explorer, Mask& mask) const;
  template <class Tell>
  size_t Walk(Explorer& explorer, uint32_t from, uint32_t root, const Tell& tell) const;
  void AddTokens(uint32_t node, Mask& mask) const {
    for (const int32_t id : vocabulary_->TokensOf(node)) Add(id, mask);
  }
  static void Add(int32_t id, Mask& mask) { mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << id % 64; }

  // Bytes that lead on from a state which many tokens can follow.
  static constexpr size_t kManyBytes = 64;

  GrammarAutomaton automaton_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::vector<std::unique_ptr<Explorer>> idle_;
  mutable BoundedCache<uint32_t, Part> parts_{kMaxKeptMaskBytes};
  mutable BoundedCache<Readings, Mask, HashReadings> masks_{kMaxKeptMaskBytes};
};

// Implementation.

// Reads all that goes on from node `root` with what is at `from`, and calls tell(node, number) for each beginning of a
// token that can be read. Returns the number of nodes that were looked at.
template <class Tell>
size_t GrammarMasks::Walk(Explorer& explorer, uint32_t from, uint32_t root, const Tell& tell) const {
  const uint32_t end = vocabulary_->node(root).end, above = vocabulary_->node(root).depth;
  std::vector<uint32_t> path(vocabulary_->longest() - above + 1);  // by depth
  path[0] = from;
  size_t visited = 0;
  for (uint32_t i = root + 1; i < end; ++visited) {
    const TokenVocabulary::Node& node = vocabulary_->node(i);
    const uint32_t depth = node.depth - above;
    const uint32_t number = explorer.Next(path[depth - 1], node.byte);
    if (number == Explorer::kDead) {
      i = node.end;
      continue;
    }
    path[depth] = number;
    tell(i++, number);
  }
  return visited;
}

// States from which a good part of all tokens can follow, as inside of strings, so that no token waits for them: those
// with the most first.
inline void GrammarMasks::ComputeLargeParts() const {
  constexpr size_t kMostVisited = size_t{1} << 22;  // some ten milliseconds
  std::vector<std::pair<size_t, uint32_t>> large;
  for (uint32_t state = 0; state < automaton_.size(); ++state) {
    if (BytesFrom(state) >= kManyBytes) large.emplace_back(BytesFrom(state), state);
  }
  std::stable_sort(large.begin(), large.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  LentExplorer explorer(*this);
  size_t visited = 0;
  for (size_t i = 0; i < large.size() && visited < kMostVisited; ++i) {
    explorer->ForgetIfLarge();
    visited += PartOf(large[i].second, *explorer)->visited;
    if (explorer->TakeOverflow()) return;
  }
}

inline std::shared_ptr<const GrammarMasks::Part> GrammarMasks::PartOf(uint32_t state, Explorer& explorer) const {
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const Part> known = parts_.Find(state)) return known;
  }
  const auto part = std::make_shared<Part>();
  const uint32_t alone[] = {state};
  const uint32_t from = explorer.NumberOf(OnlyReading(alone));
  part->depth = explorer.Depth(from);
  const auto add = [&](uint32_t node, uint32_t number) {
    const std::span<const int32_t> tokens = vocabulary_->TokensOf(node);
    part->ids.insert(part->ids.end(), tokens.begin(), tokens.end());
    part->depth = std::max(part->depth, explorer.Depth(number));
    if (explorer.IsComplete(number) && vocabulary_->node(node).end > node + 1) part->exits.push_back(node);
  };
  const bool is_large = BytesFrom(state) >= kManyBytes;
  const std::optional<size_t> plain = is_large ? PlainCharacters(explorer, from, *part) : std::nullopt;
  if (plain) {
    const std::span<const uint64_t> bits = vocabulary_->PlainUpTo(*plain);
    part->bits.assign(bits.begin(), bits.end());
  } else {
    part->visited += Walk(explorer, from, vocabulary_->plain_root(), add);
  }
  part->visited += Walk(explorer, from, TokenVocabulary::kOtherRoot, add);
  if (plain || part->ids.size() > vocabulary_->mask_words()) {
    part->bits.resize(vocabulary_->mask_words());
    for (const int32_t id : part->ids) Add(id, part->bits);
    part->ids = {};
  }
  const size_t bytes = sizeof(Part) + part->bits.size() * 8 + part->ids.size() * 4 + part->exits.size() * 4;
  if (explorer.has_overflowed()) return part;  // not all of it, and the caller will say so
  const std::lock_guard lock(mutex_);
  parts_.Add(state, part, bytes);
  return part;
}

// Returns how many plain characters may follow, whichever they are, kMostPlain standing for that and any more. Nothing
// if it depends on which, or if the rule may end between them.
inline std::optional<size_t> GrammarMasks::PlainCharacters(Explorer& explorer, uint32_t from, Part& part) const {
  constexpr size_t kMostStates = 8;
  std::vector<uint32_t> states = {from};
  for (size_t count = 0; count < TokenVocabulary::kMostPlain; ++count) {
    std::vector<uint32_t> next;
    bool some_fail = false;
    for (const uint32_t state : states) {
      const std::vector<uint32_t> after = AfterPlain(explorer, state, part, some_fail);
      next.insert(next.end(), after.begin(), after.end());
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    if (next.empty()) return count;
    const auto ends = [&](uint32_t number) { return explorer.IsComplete(number); };
    if (some_fail || next.size() > kMostStates || std::any_of(next.begin(), next.end(), ends)) return std::nullopt;
    if (next == states) break;
    states = std::move(next);
  }
  return TokenVocabulary::kMostPlain;
}

// Where one plain character leads, and whether there are any that cannot follow, or in which the rule may end.
inline std::vector<uint32_t> GrammarMasks::AfterPlain(Explorer& explorer, uint32_t from, Part& part,
                                                      bool& some_fail) const {
  static const std::vector<std::vector<ByteInterval>> plain = [] {
    std::vector<std::vector<ByteInterval>> sequences;
    for (const CharacterRange& range : Complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}})) {
      TellUtf8(range, [&](std::span<const ByteInterval> bytes) { sequences.emplace_back(bytes.begin(), bytes.end()); });
    }
    return sequences;
  }();
  std::vector<uint32_t> after;
  for (const std::vector<ByteInterval>& sequence : plain) {
    std::vector<uint32_t> states = {from};
    for (const ByteInterval& bytes : sequence) {
      const bool is_last = &bytes == &sequence.back();
      std::vector<uint32_t> next;
      for (const uint32_t state : states) {
        for (size_t byte = bytes.first; byte <= bytes.last; byte = automaton_.EndOfClass(static_cast<uint8_t>(byte))) {
          const uint32_t number = explorer.Next(state, static_cast<uint8_t>(byte));
          some_fail = some_fail || number == Explorer::kDead || (!is_last && explorer.IsComplete(number));
          part.depth = std::max(part.depth, explorer.Depth(number));
          const bool is_new = std::find(next.begin(), next.end(), number) == next.end();
          if (number != Explorer::kDead && is_new) next.push_back(number);
        }
      }
      states = std::move(next);
    }
    after.insert(after.end(), states.begin(), states.end());
  }
  return after;
}

inline Result<std::shared_ptr<const Mask>> GrammarMasks::MaskOf(const Readings& readings) const {
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const Mask> known = masks_.Find(readings)) return known;
  }
  Result<std::shared_ptr<const Mask>> mask = Compute(readings);
  if (!mask) return mask;
  const std::lock_guard lock(mutex_);
  masks_.Add(readings, *mask, (*mask)->size() * 8 + readings.size() * 4);
  return mask;
}

inline Result<std::shared_ptr<const Mask>> GrammarMasks::Compute(const Readings& readings) const {
  LentExplorer explorer(*this);
  const auto mask = std::make_shared<Mask>(vocabulary_->mask_words());
  ForEachReading(readings, [&](Reading reading) { AddReading(reading, *explorer, *mask); });
  if (readings[0] != 0) {
    for (const int32_t id : vocabulary_->end_ids()) Add(id, *mask);
  }
  if (explorer->TakeOverflow()) return TooAmbiguous();
  return mask;
}

inline void GrammarMasks::AddReading(Reading reading, Explorer& explorer, Mask& mask) const {
  const std::shared_ptr<const Part> part = PartOf(reading.back(), explorer);
  const auto add = [&](uint32_t node, uint32_t) { AddTokens(node, mask); };
  if (reading.size() + part->depth > kMaxGrammarDepth) {  // the limit is not of the state alone
    for (const uint32_t root : {TokenVocabulary::kOtherRoot, vocabulary_->plain_root()}) {
      Walk(explorer, explorer.NumberOf(OnlyReading(reading)), root, add);
    }
    return;
  }
  for (const int32_t id : part->ids) Add(id, mask);
  for (size_t i = 0; i < part->bits.size(); ++i) mask[i] |= part->bits[i];
  if (part->exits.empty() || reading.size() == 1) return;
  const uint32_t behind = explorer.Behind(reading);
  for (const uint32_t node : part->exits) Walk(explorer, behind, node, add);
}

}  // namespace skald::internal

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_MASKS_H_
