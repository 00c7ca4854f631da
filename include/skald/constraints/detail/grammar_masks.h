// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar_masks.h.

#ifndef SKALD_CONSTRAINTS_DETAIL_GRAMMAR_MASKS_H_
#define SKALD_CONSTRAINTS_DETAIL_GRAMMAR_MASKS_H_

#include "skald/constraints/grammar_masks.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/rule_graph.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<std::shared_ptr<const GrammarMasks>> GrammarMasks::Make(
    const Grammar& grammar, std::shared_ptr<const TokenVocabulary> vocabulary) {
  SKALD_ASSIGN(auto automaton, GrammarAutomaton::Make(grammar));
  const std::shared_ptr<GrammarMasks> masks(new GrammarMasks(std::move(automaton), std::move(vocabulary)));
  LentExplorer explorer(*masks, kMaxReadWork);
  explorer->Start();
  if (explorer->has_overflowed()) return TooAmbiguous();
  masks->ComputeLargeParts();
  return masks;
}

SKALD_INLINE size_t GrammarMasks::memory() const {
  const std::lock_guard lock(mutex_);
  size_t all = automaton_.memory() + parts_.bytes() + masks_.bytes();
  for (const auto& explorer : idle_) all += explorer->bytes();
  return all;
}

SKALD_INLINE Readings GrammarMasks::Start() const {
  LentExplorer explorer(*this, kMaxReadWork);
  return explorer->at(explorer->Start());
}

SKALD_INLINE Result<Readings> GrammarMasks::Read(const Readings& readings, std::string_view bytes) const {
  LentExplorer explorer(*this, kMaxReadWork);
  uint32_t number = explorer->NumberOf(readings);
  for (const char byte : bytes) number = explorer->Next(number, static_cast<uint8_t>(byte));
  if (explorer->has_overflowed()) return TooAmbiguous();
  return explorer->at(number);
}

SKALD_INLINE GrammarMasks::LentExplorer::LentExplorer(const GrammarMasks& owner, size_t most_work) : owner_(owner) {
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

SKALD_INLINE GrammarMasks::LentExplorer::~LentExplorer() {
  constexpr size_t kMostKeptBytes = size_t{4} << 20;
  const std::lock_guard lock(owner_.mutex_);
  if (explorer_->bytes() > kMostKeptBytes || owner_.idle_.size() == owner_.idle_.capacity()) return;
  owner_.idle_.push_back(std::move(explorer_));
}

SKALD_INLINE GrammarMasks::GrammarMasks(GrammarAutomaton automaton, std::shared_ptr<const TokenVocabulary> vocabulary)
    : automaton_(std::move(automaton)), vocabulary_(std::move(vocabulary)) {
  constexpr size_t kMostIdle = 8;
  idle_.reserve(kMostIdle);
}

SKALD_INLINE Failure GrammarMasks::TooAmbiguous() {
  return Fail(ErrorCode::kUnsupported, "the grammar can read this text in more ways side by side than are followed (" +
                                           std::to_string(kMaxGrammarReadings) + "), or in too many steps");
}

SKALD_INLINE bool GrammarMasks::Budget::Take(size_t work, bool is_known) {
  const bool has = work <= all && (is_known || work <= now);
  all -= std::min(all, work);
  if (!is_known) now -= std::min(now, work);
  return has;
}

SKALD_INLINE size_t GrammarMasks::BytesFrom(uint32_t state) const {
  size_t bytes = 0;
  for (const ByteEdge& edge : automaton_.bytes(state)) bytes += edge.bytes.last - edge.bytes.first + size_t{1};
  return bytes;
}

SKALD_INLINE void GrammarMasks::AddTokens(uint32_t node, Mask& mask) const {
  for (const int32_t id : vocabulary_->TokensOf(node)) Add(id, mask);
}

template <class Tell, class TellAll>
void GrammarMasks::GrammarMasks::Walk(Explorer& explorer, uint32_t from, uint32_t root, const Tell& tell,
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

SKALD_INLINE void GrammarMasks::GrammarMasks::ComputeLargeParts() const {
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

SKALD_INLINE std::shared_ptr<const GrammarMasks::Part> GrammarMasks::GrammarMasks::PartOf(uint32_t state,
                                                                                          Budget& budget) const {
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

SKALD_INLINE std::optional<size_t> GrammarMasks::GrammarMasks::CharactersAfter(TokenVocabulary::Kind kind,
                                                                               Explorer& explorer, uint32_t from,
                                                                               uint32_t& depth) const {
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

SKALD_INLINE std::vector<uint32_t> GrammarMasks::GrammarMasks::AfterOne(TokenVocabulary::Kind kind, Explorer& explorer,
                                                                        uint32_t from, uint32_t& depth,
                                                                        bool& some_fail) const {
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

SKALD_INLINE Result<std::shared_ptr<const Mask>> GrammarMasks::GrammarMasks::MaskOf(const Readings& readings) const {
  std::shared_ptr<const Mask> mask = MaskWithin(readings, kMaxMaskWork);
  if (mask == nullptr || IsTooMuch(*mask)) return TooAmbiguous();
  return mask;
}

SKALD_INLINE Result<std::shared_ptr<const Mask>> GrammarMasks::GrammarMasks::QuickMaskOf(
    const Readings& readings) const {
  std::shared_ptr<const Mask> mask = MaskWithin(readings, kMaxQuickMaskWork);
  if (mask != nullptr && IsTooMuch(*mask)) return TooAmbiguous();
  return mask;
}

SKALD_INLINE std::shared_ptr<const Mask> GrammarMasks::GrammarMasks::MaskWithin(const Readings& readings,
                                                                                size_t most) const {
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

SKALD_INLINE Readings GrammarMasks::GrammarMasks::Alike(const Readings& readings) const {
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

SKALD_INLINE std::shared_ptr<const Mask> GrammarMasks::GrammarMasks::Compute(const Readings& readings,
                                                                             Budget budget) const {
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

SKALD_INLINE bool GrammarMasks::GrammarMasks::AddReading(Reading reading, Budget& budget, Explorer& explorer,
                                                         Mask& mask) const {
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

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_DETAIL_GRAMMAR_MASKS_H_
