// SPDX-License-Identifier: Apache-2.0
//
// The chain of digests that names state by what it is a function of: identity, layout, element type, and all tokens up
// to a position. Tokens are cut at fixed positions into chunks, and each chunk's digest includes the one before it, so
// two conversations share the names of what they have in common, from the front.

#ifndef SKALD_STORE_SNAPSHOTS_TOKEN_CHAIN_H_
#define SKALD_STORE_SNAPSHOTS_TOKEN_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/sha256.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

// Tokens per chunk; part of the format. A multiple of every tile, and small enough that little is computed again where
// two prompts part ways.
inline constexpr uint32_t kChunkTokens = 64;
static_assert(kChunkTokens % kTile == 0);

// What must agree for state to be exchangeable. Block sizes, threads and SIMD targets need not.
struct StateKind {
  IdentityDigests identity;
  uint64_t layout_fingerprint = 0;
  DType kv_type = DType::kBF16;
  bool lossy = false;  // rounded on the way into a store

  friend bool operator==(const StateKind&, const StateKind&) = default;
};

// Used by one thread at a time.
class TokenChain {
 public:
  // `tokens` must outlive the chain.
  static Result<TokenChain> Of(const StateKind& kind, std::span<const int32_t> tokens) {
    return NoThrow("the token chain", [&] { return Make(kind, tokens); });
  }

  std::span<const int32_t> tokens() const { return tokens_; }

  // The digest of the first `count` tokens.
  Result<Sha256Digest> At(size_t count) const {
    const size_t whole = count / kChunkTokens, rest = count % kChunkTokens;
    if (rest == 0) return links_[whole];
    return Link(hash_, links_[whole], tokens_.subspan(whole * kChunkTokens, rest));
  }

  // The key of what tokens [begin, end), all of one chunk, added to attention group `group`.
  Result<ChunkKey> TokensKey(size_t group, size_t begin, size_t end) const { return Key("tokens", group, begin, end); }

  // The key of recurrent group `group`'s state after `count` tokens.
  Result<ChunkKey> StateKey(size_t group, size_t count) const { return Key("state", group, count, count); }

  // The key of what the last of `count` tokens gave to the states of recurrent group `group`.
  Result<ChunkKey> InputsKey(size_t group, size_t count) const { return Key("inputs", group, count, count); }

 private:
  explicit TokenChain(std::span<const int32_t> tokens) : tokens_(tokens) {}

  static Result<TokenChain> Make(const StateKind& kind, std::span<const int32_t> tokens) {
    Sha256 hash;
    hash.Update("skald token chain 1");
    for (const Sha256Digest* digest :
         {&kind.identity.weights, &kind.identity.adapter, &kind.identity.tokenizer, &kind.identity.salt}) {
      hash.Update(*digest);
    }
    const uint64_t facts[] = {kind.identity.weight_type, kind.layout_fingerprint,
                              static_cast<uint64_t>(ChunkElementOf(kind.kv_type)), uint64_t{kind.lossy}};
    auto link = hash.Update(std::as_bytes(std::span(facts))).Finish();
    if (!link) return Failure(link.error());
    TokenChain chain(tokens);
    chain.links_.push_back(*link);
    while (chain.links_.size() <= tokens.size() / kChunkTokens) {
      const size_t begin = (chain.links_.size() - 1) * kChunkTokens;
      link = Link(hash, chain.links_.back(), tokens.subspan(begin, kChunkTokens));
      if (!link) return Failure(link.error());
      chain.links_.push_back(*link);
    }
    return chain;
  }

  static Result<Sha256Digest> Link(Sha256& hash, const Sha256Digest& before, std::span<const int32_t> tokens) {
    return hash.Update(before).Update(std::as_bytes(tokens)).Finish();
  }

  Result<ChunkKey> Key(std::string_view what, size_t group, size_t begin, size_t end) const {
    const auto link = At(end);
    if (!link) return Failure(link.error());
    const uint64_t facts[] = {group, begin};
    const auto digest = hash_.Update(*link).Update(std::as_bytes(std::span(facts))).Update(what).Finish();
    if (!digest) return Failure(digest.error());
    return ChunkKey{*digest};
  }

  std::span<const int32_t> tokens_;
  std::vector<Sha256Digest> links_;  // [i] covers the first i chunks
  mutable Sha256 hash_;              // used again: making one takes longer than hashing a chunk's tokens
};

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_TOKEN_CHAIN_H_
