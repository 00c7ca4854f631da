// SPDX-License-Identifier: Apache-2.0
//
// TokenFilter: which tokens may come next, given the previous ones. The caller asks it before each draw and reports the
// drawn token; a filter of your own is a class that derives from this one. GrammarFilter (grammar_filter.h) holds a
// text to a grammar or a JSON Schema.
//
// A filter is the state of one text, as a cache is: not for several threads at once, and forked by Clone. Speculation
// keeps a clone for each position that it may have to go back to.

#ifndef SKALD_CONSTRAINTS_TOKEN_FILTER_H_
#define SKALD_CONSTRAINTS_TOKEN_FILTER_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "skald/base/result.h"

namespace skald {

/// Work that a filter must do before it can answer. Any thread may do it, concurrently with all calls of the filter and
/// of its clones, and after them.
class FilterWork {
 public:
  virtual ~FilterWork() = default;

  /// To be called once.
  void Do() noexcept;
  /// Whether Do has ended. The calling thread sees its results then.
  bool is_done() const { return is_done_.load(std::memory_order_acquire); }

 protected:
  /// Keeps what it computed, or the error, for the filter.
  virtual void Compute() noexcept = 0;

 private:
  std::atomic<bool> is_done_ = false;
};

class TokenFilter {
 public:
  virtual ~TokenFilter() = default;

  /// Returns a filter in the same state, which goes its own way from here. Costs little: what does not change is
  /// shared.
  virtual Result<std::unique_ptr<TokenFilter>> Clone() const = 0;

  /// Returns one bit for each id of the vocabulary, that of id i being bit i % 64 of word i / 64: whether it may come
  /// next. Ids beyond the words may not. Tokens that end the text are among them where IsComplete. The words live until
  /// the next call of a function that is not const. With no bit set no text can follow, which an error reports where
  /// the filter knows why.
  virtual Result<std::span<const uint64_t>> Allowed() = 0;

  /// Returns the work that Allowed would take long for, or null: then Allowed answers soon, as it does when the work is
  /// done. It is the same work until the filter advances. Without this call, or without waiting, Allowed gives the same
  /// answers.
  virtual std::shared_ptr<FilterWork> TakeWork() { return nullptr; }

  /// Advances to the state after `id`. An id that is not allowed is an error, and changes nothing.
  virtual Result<void> Accept(int32_t id) = 0;

  /// Whether the text may end here, because of a token that ends it or without one.
  virtual bool IsComplete() const = 0;
};

/// Whether `allowed`, as TokenFilter::Allowed returns it, has the bit of `id`.
bool IsAllowed(std::span<const uint64_t> allowed, int32_t id);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/detail/token_filter.h"
#endif

#endif  // SKALD_CONSTRAINTS_TOKEN_FILTER_H_
