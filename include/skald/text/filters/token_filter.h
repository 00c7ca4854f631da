// SPDX-License-Identifier: Apache-2.0
//
// TokenFilter: which tokens may come next, given those that came. Whoever samples asks before each draw and tells what
// was drawn; a filter of your own is a class that derives from this one. GrammarFilter (grammar_filter.h) holds a text
// to a grammar or a JSON Schema.
//
// A filter is the state of one text, as a cache is: not for several threads at once, and forked by Clone. Speculation
// keeps a clone for each position that it may have to go back to.

#ifndef SKALD_TEXT_FILTERS_TOKEN_FILTER_H_
#define SKALD_TEXT_FILTERS_TOKEN_FILTER_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "skald/base/result.h"

namespace skald {

class TokenFilter {
 public:
  virtual ~TokenFilter() = default;

  // Returns a filter in the same state, which goes its own way from here. Costs little: what does not change is shared.
  virtual Result<std::unique_ptr<TokenFilter>> Clone() const = 0;

  // Returns one bit for each id of the vocabulary, that of id i being bit i % 64 of word i / 64: whether it may come
  // next. Ids beyond the words may not. Tokens that end the text are among them where IsComplete. The words live until
  // the next call of a function that is not const. With no bit set no text can follow, which an error reports where the
  // filter knows why.
  virtual Result<std::span<const uint64_t>> Allowed() = 0;

  // Goes on to the state behind `id`. An id that is not allowed is an error, and changes nothing.
  virtual Result<void> Accept(int32_t id) = 0;

  // Whether the text may end here, because of a token that ends it or without one.
  virtual bool IsComplete() const = 0;
};

// Whether `allowed`, as TokenFilter::Allowed returns it, has the bit of `id`.
inline bool IsAllowed(std::span<const uint64_t> allowed, int32_t id) {
  const auto bit = static_cast<size_t>(id);
  return id >= 0 && bit / 64 < allowed.size() && (allowed[bit / 64] >> bit % 64 & 1) != 0;
}

// Sets the logits [vocab_size] of all ids that are not allowed to minus infinity.
inline void Forbid(std::span<const uint64_t> allowed, std::span<float> logits) {
  for (size_t begin = 0; begin < logits.size(); begin += 64) {
    const uint64_t word = begin / 64 < allowed.size() ? allowed[begin / 64] : 0;
    if (word == ~uint64_t{0}) continue;
    for (size_t i = begin; i < logits.size() && i < begin + 64; ++i) {
      if ((word >> (i - begin) & 1) == 0) logits[i] = -INFINITY;
    }
  }
}

}  // namespace skald

#endif  // SKALD_TEXT_FILTERS_TOKEN_FILTER_H_
