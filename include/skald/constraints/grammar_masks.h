// SPDX-License-Identifier: Apache-2.0
//
// GrammarMasks: a grammar and a vocabulary, and for readings of the grammar which tokens may follow. Immutable but for
// what it remembers; safe for concurrent calls.
//
// Most tokens come to an end, or fail, within the present rule of a reading, whatever called that rule. So masks are
// made of parts: the tokens that a state of a rule allows by itself are computed once, together with the beginnings of
// tokens that reach the rule's end; only these are followed again in each reading. If any characters may follow, as in
// strings, tokens of plain characters are not checked one by one. Source: Dong et al., "XGrammar: flexible and
// efficient structured generation engine for large language models", 2024, section 3.1.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_MASKS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_MASKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/grammar/automaton.h"
#include "skald/constraints/grammar/bounded_cache.h"
#include "skald/constraints/grammar/explorer.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar/limits.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald::internal {

using Mask = std::vector<uint64_t>;

class GrammarMasks {
 public:
  // `vocabulary` must not be null. Errors: those of GrammarAutomaton::Make; kUnsupported where already the beginning
  // takes more than limits.h allows.
  static Result<std::shared_ptr<const GrammarMasks>> Make(const Grammar& grammar,
                                                          std::shared_ptr<const TokenVocabulary> vocabulary);

  const TokenVocabulary& vocabulary() const { return *vocabulary_; }
  /// About the memory that it takes now, without the vocabulary's.
  size_t memory() const;
  Readings Start() const;

  /// Returns what `bytes` make of `readings`. Errors: kUnsupported where that takes more than limits.h allows, which
  /// does not depend on what was asked before.
  Result<Readings> Read(const Readings& readings, std::string_view bytes) const;

  /// Returns the tokens that may follow, tokens that end the text among them where it may end. Errors as of Read.
  Result<std::shared_ptr<const Mask>> MaskOf(const Readings& readings) const;
  /// The same if it is known or takes little time; else null.
  Result<std::shared_ptr<const Mask>> QuickMaskOf(const Readings& readings) const;

 private:
  // The tokens that one state of a rule allows by itself.
  struct Part {
    Mask bits;                    ///< the tokens that end within the rule, or where it ends
    std::vector<int32_t> ids;     ///< the same where they are few, and `bits` is empty
    std::vector<uint32_t> exits;  ///< nodes of the vocabulary at which the rule may end and tokens go on
    uint32_t depth = 0;           ///< calls within calls
    size_t work = 0;
  };

  /// An explorer for one call; what it has learned is kept for the next one.
  class LentExplorer {
   public:
    LentExplorer(const GrammarMasks& owner, size_t most_work);
    LentExplorer(const LentExplorer&) = delete;
    LentExplorer& operator=(const LentExplorer&) = delete;
    ~LentExplorer();
    Explorer* operator->() const { return explorer_.get(); }
    Explorer& operator*() const { return *explorer_; }

   private:
    const GrammarMasks& owner_;
    std::unique_ptr<Explorer> explorer_;
  };

  GrammarMasks(GrammarAutomaton automaton, std::shared_ptr<const TokenVocabulary> vocabulary);

  static Failure TooAmbiguous();

  void ComputeLargeParts() const;
  /// The work that a mask may still take. All of it counts for the limit, known or not, so that it is the same for all
  /// callers; work done now counts for now.
  struct Budget {
    size_t all = kMaxMaskWork, now = kMaxMaskWork;

    /// Returns false where it is more than there is.
    bool Take(size_t work, bool is_known);
  };

  /// These return null where that takes more work than there may be.
  std::shared_ptr<const Part> PartOf(uint32_t state, Budget& budget) const;
  std::shared_ptr<const Mask> MaskWithin(const Readings& readings, size_t most) const;
  std::shared_ptr<const Mask> Compute(const Readings& readings, Budget budget) const;
  Readings Alike(const Readings& readings) const;
  /// That a mask is beyond the limit is remembered too, as a mask with a word too many.
  bool IsTooMuch(const Mask& mask) const { return mask.size() != vocabulary_->mask_words(); }
  std::optional<size_t> CharactersAfter(TokenVocabulary::Kind kind, Explorer& explorer, uint32_t from,
                                        uint32_t& depth) const;
  std::vector<uint32_t> AfterOne(TokenVocabulary::Kind kind, Explorer& explorer, uint32_t from, uint32_t& depth,
                                 bool& some_fail) const;
  size_t BytesFrom(uint32_t state) const;
  bool AddReading(Reading reading, Budget& budget, Explorer& explorer, Mask& mask) const;
  template <class Tell, class TellAll>
  void Walk(Explorer& explorer, uint32_t from, uint32_t root, const Tell& tell, const TellAll& tell_all) const;
  void AddTokens(uint32_t node, Mask& mask) const;
  static void Add(int32_t id, Mask& mask) { mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << id % 64; }

  /// Bytes that lead on from a state which many tokens can follow.
  static constexpr size_t kManyBytes = 26;

  GrammarAutomaton automaton_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  mutable std::mutex mutex_;  ///< guards what follows
  mutable std::vector<std::unique_ptr<Explorer>> idle_;
  mutable BoundedCache<uint32_t, Part> parts_{kMaxKeptMaskBytes};
  mutable BoundedCache<Readings, Mask, HashReadings> masks_{kMaxKeptMaskBytes};
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/constraints/detail/grammar_masks.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_MASKS_H_
