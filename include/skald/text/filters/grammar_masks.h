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
  // `vocabulary` must not be null. Errors: those of GrammarAutomaton::Make; kUnsupported where already the beginning
  // takes more than limits.h allows.
  static Result<std::shared_ptr<const GrammarMasks>> Make(const Grammar& grammar,
                                                          std::shared_ptr<const TokenVocabulary> vocabulary) {
    Result<GrammarAutomaton> automaton = GrammarAutomaton::Make(grammar);
    if (!automaton) return Failure(automaton.error());
    const std::shared_ptr<GrammarMasks> masks(new GrammarMasks(*std::move(automaton), std::move(vocabulary)));
    LentExplorer explorer(*masks, kMaxReadWork);
    explorer->Start();
    if (explorer->has_overflowed()) return TooAmbiguous();
    masks->ComputeLargeParts();
    return masks;
  }

  const TokenVocabulary& vocabulary() const { return *vocabulary_; }
  // About the memory that it takes now, without the vocabulary's.
  size_t memory() const {
    const std::lock_guard lock(mutex_);
    size_t all = automaton_.memory() + parts_.bytes() + masks_.bytes();
    for (const auto& explorer : idle_) all += explorer->bytes();
    return all;
  }
  Readings Start() const {
    LentExplorer explorer(*this, kMaxReadWork);
    return explorer->at(explorer->Start());
  }

  // Returns what `bytes` make of `readings`. Errors: kUnsupported where that takes more than limits.h allows, which
  // does not depend on what was asked before.
  Result<Readings> Read(const Readings& readings, std::string_view bytes) const {
    LentExplorer explorer(*this, kMaxReadWork);
    uint32_t number = explorer->NumberOf(readings);
    for (const char byte : bytes) number = explorer->Next(number, static_cast<uint8_t>(byte));
    if (explorer->has_overflowed()) return TooAmbiguous();
    return explorer->at(number);
  }

  // Returns the tokens that may follow, tokens that end the text among them where it may end. Errors as of Read.
  Result<std::shared_ptr<const Mask>> MaskOf(const Readings& readings) const;
  // The same if it is known or takes little time; else null.
  Result<std::shared_ptr<const Mask>> QuickMaskOf(const Readings& readings) const;

 private:
  // What one state of a rule allows by itself.
  struct Part {
    Mask bits;                    // the tokens that end within the rule, or where it ends
    std::vector<int32_t> ids;     // the same where they are few, and `bits` is empty
    std::vector<uint32_t> exits;  // nodes of the vocabulary at which the rule may end and tokens go on
    uint32_t depth = 0;           // calls within calls
    size_t work = 0;
  };

  // An explorer for one call, which knows nothing, with its memory from the last one.
  class LentExplorer {
   public:
    LentExplorer(const GrammarMasks& owner, size_t most_work) : owner_(owner) {
      {
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.idle_.empty()) {
          explorer_ = std::move(owner_.idle_.back());
          owner_.idle_.pop_back();
        }
      }
      if (explorer_ == nullptr) explorer_ = std::make_unique<Explorer>(owner_.automaton_);
      explorer_->Begin(most_work);
    }
    LentExplorer(const LentExplorer&) = delete;
    LentExplorer& operator=(const LentExplorer&) = delete;
    ~LentExplorer() {
      constexpr size_t kMostKeptBytes = size_t{1} << 20;
      const std::lock_guard lock(owner_.mutex_);
      if (explorer_->bytes() > kMostKeptBytes || owner_.idle_.size() == owner_.idle_.capacity()) return;
      owner_.idle_.push_back(std::move(explorer_));
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
    return Fail(ErrorCode::kUnsupported,
                "the grammar can read this text in more ways side by side than are followed (" +
                    std::to_string(kMaxGrammarReadings) + "), or in too many steps");
  }

  void ComputeLargeParts() const;
  // What a mask may still take. All of it counts for the limit, known or not, so that it is the same for whoever asks;
  // what is computed now counts for now.
  struct Budget {
    size_t all = kMaxMaskWork, now = kMaxMaskWork;

    // Returns false where it is more than there is.
    bool Take(size_t work, bool is_known) {
      const bool has = work <= all && (is_known || work <= now);
      all -= std::min(all, work);
      if (!is_known) now -= std::min(now, work);
      return has;
    }
  };

  // These return null where that takes more work than there may be.
  std::shared_ptr<const Part> PartOf(uint32_t state, Budget& budget) const;
  std::shared_ptr<const Mask> MaskWithin(const Readings& readings, size_t most) const;
  std::shared_ptr<const Mask> Compute(const Readings& readings, Budget budget) const;
  Readings Alike(const Readings& readings) const;
  // That a mask is beyond the limit is remembered too, as a mask with a word too many.
  bool IsTooMuch(const Mask& mask) const { return mask.size() != vocabulary_->mask_words(); }
  std::optional<size_t> CharactersAfter(TokenVocabulary::Kind kind, Explorer& explorer, uint32_t from,
                                        uint32_t& depth) const;
  std::vector<uint32_t> AfterOne(TokenVocabulary::Kind kind, Explorer& explorer, uint32_t from, uint32_t& depth,
                                 bool& some_fail) const;
  size_t BytesFrom(uint32_t state) const {
    size_t bytes = 0;
    for (const ByteEdge& edge : automaton_.bytes(state)) bytes += edge.bytes.last - edge.bytes.first + size_t{1};
    return bytes;
  }
  bool AddReading(Reading reading, Budget& budget, Explorer& explorer, Mask& mask) const;
  template <class Tell, class TellAll>
  void Walk(Explorer& explorer, uint32_t from, uint32_t root, const Tell& tell, const TellAll& tell_all) const;
  void AddTokens(uint32_t node, Mask& mask) const {
    for (const int32_t id : vocabulary_->TokensOf(node)) Add(id, mask);
  }
  static void Add(int32_t id, Mask& mask) { mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << id % 64; }

  // Bytes that lead on from a state which many tokens can follow.
  static constexpr size_t kManyBytes = 26;

  GrammarAutomaton automaton_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::vector<std::unique_ptr<Explorer>> idle_;
  mutable BoundedCache<uint32_t, Part> parts_{kMaxKeptMaskBytes};
  mutable BoundedCache<Readings, Mask, HashReadings> masks_{kMaxKeptMaskBytes};
};

// Implementation.

// Reads all that goes on from node `root` with what is at `from`, and calls tell(node, number) for each beginning of a
// token that can be read. Of a node with many behind it, it asks tell_all(node, number) whether it has told
// all behind it. Ends early where the explorer overflows.
template <class Tell, class TellAll>
void GrammarMasks::Walk(Explorer& explorer, uint32_t from, uint32_t root, const Tell& tell,
                        const TellAll& tell_all) const {
  constexpr uint32_t kManyNodes = 256;
  const uint32_t end = vocabulary_->node(root).end, above = vocabulary_->node(root).depth;
  std::vector<uint32_t> path(vocabulary_->longest() - above + 1);  // by depth
  path[0] = from;
  for (uint32_t i = root + 1; i < end && !explorer.has_overflowed();) {
    const TokenVocabulary::Node& node = vocabulary_->node(i);
    const uint32_t depth = node.depth - above;
    explorer.AddWork(1);
    const uint32_t number = explorer.Next(path[depth - 1], node.byte);
    if (number == Explorer::kDead) {
      i = node.end;
      continue;
    }
    path[depth] = number;
    tell(i, number);
    const bool takes_all = node.end - i > kManyNodes && tell_all(i, number);
    i = takes_all ? node.end : i + 1;
  }
}

// States from which a good part of all tokens can follow, as inside of strings, so that no token waits for them: those
// with the most first.
inline void GrammarMasks::ComputeLargeParts() const {
  constexpr size_t kMostWork = size_t{1} << 23;  // a tenth of a second
  std::vector<std::pair<size_t, uint32_t>> large;
  for (uint32_t state = 0; state < automaton_.size(); ++state) {
    if (BytesFrom(state) >= kManyBytes) large.emplace_back(BytesFrom(state), state);
  }
  std::stable_sort(large.begin(), large.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Budget budget = {kMostWork, kMostWork};
  for (size_t i = 0; i < large.size(); ++i) {
    if (PartOf(large[i].second, budget) == nullptr) return;
  }
}

inline std::shared_ptr<const GrammarMasks::Part> GrammarMasks::PartOf(uint32_t state, Budget& budget) const {
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const Part> known = parts_.Find(state)) {
      return budget.Take(known->work, /*is_known=*/true) ? known : nullptr;
    }
  }
  LentExplorer lent(*this, std::min(budget.all, budget.now));
  Explorer& explorer = *lent;
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
  const auto add_all = [&](TokenVocabulary::Kind kind, uint32_t node, uint32_t number) {
    if (CharactersAfter(kind, explorer, number, part->depth) != TokenVocabulary::kMostCharacters) return false;
    const std::span<const int32_t> tokens = vocabulary_->TokensBehind(node);
    part->ids.insert(part->ids.end(), tokens.begin(), tokens.end());
    return true;
  };
  for (const TokenVocabulary::Kind kind : TokenVocabulary::kKinds) {
    const std::optional<size_t> most = is_large ? CharactersAfter(kind, explorer, from, part->depth) : std::nullopt;
    if (!most) {
      const auto all = [&](uint32_t node, uint32_t number) { return add_all(kind, node, number); };
      Walk(explorer, from, vocabulary_->root(kind), add, all);
      continue;
    }
    const std::span<const uint64_t> bits = vocabulary_->UpTo(kind, *most);
    part->bits.resize(bits.size());
    for (size_t i = 0; i < bits.size(); ++i) part->bits[i] |= bits[i];
  }
  if (!part->bits.empty() || part->ids.size() > vocabulary_->mask_words()) {
    part->bits.resize(vocabulary_->mask_words());
    for (const int32_t id : part->ids) Add(id, part->bits);
    part->ids = {};
  }
  const size_t bytes = sizeof(Part) + part->bits.size() * 8 + part->ids.size() * 4 + part->exits.size() * 4;
  if (explorer.has_overflowed()) return nullptr;  // it is not all of it
  part->work = explorer.work();
  (void)budget.Take(part->work, /*is_known=*/false);
  const std::lock_guard lock(mutex_);
  parts_.Add(state, part, bytes);
  return part;
}

// Returns how many characters of a kind may follow, whichever they are, kMostCharacters standing for that and any more.
// Nothing if it depends on which, or if the rule may end between them.
inline std::optional<size_t> GrammarMasks::CharactersAfter(TokenVocabulary::Kind kind, Explorer& explorer,
                                                           uint32_t from, uint32_t& depth) const {
  constexpr size_t kMostStates = 8;
  if (kind == TokenVocabulary::Kind::kOther) return std::nullopt;
  std::vector<uint32_t> states = {from};
  for (size_t count = 0; count < TokenVocabulary::kMostCharacters; ++count) {
    std::vector<uint32_t> next;
    bool some_fail = false;
    for (const uint32_t state : states) {
      const std::vector<uint32_t> after = AfterOne(kind, explorer, state, depth, some_fail);
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
  return TokenVocabulary::kMostCharacters;
}

// Where one character of a kind leads, and whether there are any that cannot follow, or in which the rule may end.
inline std::vector<uint32_t> GrammarMasks::AfterOne(TokenVocabulary::Kind kind, Explorer& explorer, uint32_t from,
                                                    uint32_t& depth, bool& some_fail) const {
  using Sequences = std::vector<std::vector<ByteInterval>>;
  static const auto spell = [](TokenVocabulary::Kind of) {
    Sequences sequences;
    for (const CharacterRange& range : TokenVocabulary::CharactersOf(of)) {
      TellUtf8(range, [&](std::span<const ByteInterval> bytes) { sequences.emplace_back(bytes.begin(), bytes.end()); });
    }
    return sequences;
  };
  static const Sequences words = spell(TokenVocabulary::Kind::kWord), plain = spell(TokenVocabulary::Kind::kPlain);
  std::vector<uint32_t> after;
  for (const std::vector<ByteInterval>& sequence : kind == TokenVocabulary::Kind::kWord ? words : plain) {
    std::vector<uint32_t> states = {from};
    for (const ByteInterval& bytes : sequence) {
      const bool is_last = &bytes == &sequence.back();
      std::vector<uint32_t> next;
      for (const uint32_t state : states) {
        for (size_t byte = bytes.first; byte <= bytes.last; byte = automaton_.EndOfClass(static_cast<uint8_t>(byte))) {
          const uint32_t number = explorer.Next(state, static_cast<uint8_t>(byte));
          some_fail = some_fail || number == Explorer::kDead || (!is_last && explorer.IsComplete(number));
          depth = std::max(depth, explorer.Depth(number));
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
  std::shared_ptr<const Mask> mask = MaskWithin(readings, kMaxMaskWork);
  if (mask == nullptr || IsTooMuch(*mask)) return TooAmbiguous();
  return mask;
}

inline Result<std::shared_ptr<const Mask>> GrammarMasks::QuickMaskOf(const Readings& readings) const {
  std::shared_ptr<const Mask> mask = MaskWithin(readings, kMaxQuickMaskWork);
  if (mask != nullptr && IsTooMuch(*mask)) return TooAmbiguous();
  return mask;
}

inline std::shared_ptr<const Mask> GrammarMasks::MaskWithin(const Readings& readings, size_t most) const {
  Readings fewer;
  if (automaton_.has_loops()) fewer = Alike(readings);
  const Readings& alike = automaton_.has_loops() ? fewer : readings;
  {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const Mask> known = masks_.Find(alike)) return known;
  }
  std::shared_ptr<const Mask> mask = Compute(alike, {kMaxMaskWork, most});
  if (mask == nullptr && most < kMaxMaskWork) return nullptr;
  if (mask == nullptr) mask = std::make_shared<const Mask>(vocabulary_->mask_words() + 1);
  const std::lock_guard lock(mutex_);
  masks_.Add(alike, mask, mask->size() * 8 + alike.size() * 4);
  return mask;
}

// Readings with the same mask that say no more than they must: counts that no token brings near to their ends are one,
// so that in a long string all masks are one.
inline Readings GrammarMasks::Alike(const Readings& readings) const {
  std::vector<std::vector<uint32_t>> stacks;
  ForEachReading(readings, [&](Reading reading) {
    std::vector<uint32_t>& stack = stacks.emplace_back();
    for (const uint32_t state : reading) stack.push_back(automaton_.Alike(state, vocabulary_->longest()));
  });
  std::sort(stacks.begin(), stacks.end());
  stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  Readings alike = {readings[0]};
  for (const std::vector<uint32_t>& stack : stacks) {
    alike.push_back(static_cast<uint32_t>(stack.size()));
    alike.insert(alike.end(), stack.begin(), stack.end());
  }
  return alike;
}

inline std::shared_ptr<const Mask> GrammarMasks::Compute(const Readings& readings, Budget budget) const {
  LentExplorer explorer(*this, budget.now);
  const auto mask = std::make_shared<Mask>(vocabulary_->mask_words());
  bool is_whole = true;
  ForEachReading(readings,
                 [&](Reading reading) { is_whole = is_whole && AddReading(reading, budget, *explorer, *mask); });
  if (!is_whole || explorer->has_overflowed() || !budget.Take(explorer->work(), /*is_known=*/false)) return nullptr;
  if (readings[0] != 0) {
    for (const int32_t id : vocabulary_->end_ids()) Add(id, *mask);
  }
  return mask;
}

// Returns false where the state's part takes more work than there may be.
inline bool GrammarMasks::AddReading(Reading reading, Budget& budget, Explorer& explorer, Mask& mask) const {
  const std::shared_ptr<const Part> part = PartOf(reading.back(), budget);
  if (part == nullptr) return false;
  const auto add = [&](uint32_t node, uint32_t) { AddTokens(node, mask); };
  const auto none = [](uint32_t, uint32_t) { return false; };
  if (reading.size() + part->depth > kMaxGrammarDepth) {  // the limit is not of the state alone
    for (const TokenVocabulary::Kind kind : TokenVocabulary::kKinds) {
      Walk(explorer, explorer.NumberOf(OnlyReading(reading)), vocabulary_->root(kind), add, none);
    }
    return true;
  }
  for (const int32_t id : part->ids) Add(id, mask);
  for (size_t i = 0; i < part->bits.size(); ++i) mask[i] |= part->bits[i];
  if (part->exits.empty() || reading.size() == 1) return true;
  const uint32_t behind = explorer.Behind(reading);
  for (const uint32_t node : part->exits) Walk(explorer, behind, node, add, none);
  return true;
}

}  // namespace skald::internal

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_MASKS_H_
