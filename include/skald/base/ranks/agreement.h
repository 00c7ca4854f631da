// SPDX-License-Identifier: Apache-2.0
//
// Agree: ranks perform an operation together only if all of them can. An error of one rank thus becomes an error of
// all, and no rank waits for it later.

#ifndef SKALD_BASE_RANKS_AGREEMENT_H_
#define SKALD_BASE_RANKS_AGREEMENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"

namespace skald {

/// Returns success if every rank calls it with success; else this rank's own error, or the first error of another rank,
/// with its number. All ranks must call it.
template <class T>
Result<void> Agree(const CommunicatorRef& ranks, const Result<T>& own) {
  // For each rank: 0 or the code of its error plus one, and as much of its sentence as fits.
  constexpr size_t kSentence = 252;
  struct Word {
    uint32_t code;
    char sentence[kSentence];
  };
  const auto [rank, count] = ranks.share();
  std::vector<Word> words(count, Word{});
  std::vector<size_t> begins;
  for (size_t r = 0; r <= count; ++r) begins.push_back(r * sizeof(Word));
  if (!own) {
    const std::string& sentence = own.error().message;
    words[rank].code = static_cast<uint32_t>(own.error().code) + 1;
    std::memcpy(words[rank].sentence, sentence.data(), std::min(sentence.size(), kSentence - 1));
  }
  const auto met = ranks.AllGather(std::as_writable_bytes(std::span(words)), begins);
  if (!own) return Failure(own.error());
  if (!met) return met;
  const auto first = std::ranges::find_if(words, [](const Word& word) { return word.code != 0; });
  if (first == words.end()) return {};
  return Fail(static_cast<ErrorCode>(first->code - 1),
              "rank " + std::to_string(first - words.begin()) + ": " + first->sentence);
}

/// For a rank that has no error.
inline Result<void> Agree(const CommunicatorRef& ranks) { return Agree(ranks, Result<void>()); }

}  // namespace skald

#endif  // SKALD_BASE_RANKS_AGREEMENT_H_
