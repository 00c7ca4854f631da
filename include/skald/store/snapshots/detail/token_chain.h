// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/token_chain.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_TOKEN_CHAIN_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_TOKEN_CHAIN_H_

#include "skald/store/snapshots/token_chain.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/store/chunks/chunk_frame.h"

namespace skald {

SKALD_INLINE Result<TokenChain> TokenChain::Of(const StateKind& kind, std::span<const int32_t> tokens) {
  return NoThrow("the token chain", [&] { return Make(kind, tokens); });
}

SKALD_INLINE Result<Sha256Digest> TokenChain::At(size_t count) const {
  const size_t whole = count / kChunkTokens, rest = count % kChunkTokens;
  if (rest == 0) return links_[whole];
  return Link(hash_, links_[whole], tokens_.subspan(whole * kChunkTokens, rest));
}

SKALD_INLINE Result<TokenChain> TokenChain::Make(const StateKind& kind, std::span<const int32_t> tokens) {
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

SKALD_INLINE Result<Sha256Digest> TokenChain::Link(Sha256& hash, const Sha256Digest& before,
                                                   std::span<const int32_t> tokens) {
  return hash.Update(before).Update(std::as_bytes(tokens)).Finish();
}

SKALD_INLINE Result<ChunkKey> TokenChain::Key(std::string_view what, size_t group, size_t begin, size_t end) const {
  SKALD_ASSIGN(const auto link, At(end));
  const uint64_t facts[] = {group, begin};
  SKALD_ASSIGN(const auto digest, hash_.Update(link).Update(std::as_bytes(std::span(facts))).Update(what).Finish());
  return ChunkKey{digest};
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_TOKEN_CHAIN_H_
