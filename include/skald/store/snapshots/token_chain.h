// SPDX-License-Identifier: Apache-2.0
//
// The chain of digests that names state by everything that it is a function of: identity, layout, element type, and all
// tokens up to a position. Tokens are cut at fixed positions into chunks, and each chunk's digest includes the one
// before it, so two conversations with a common beginning share its names.

#ifndef SKALD_STORE_SNAPSHOTS_TOKEN_CHAIN_H_
#define SKALD_STORE_SNAPSHOTS_TOKEN_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/sha256.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

/// Tokens per chunk; part of the format. A multiple of every tile, and small enough that little is computed again after
/// two prompts differ.
inline constexpr uint32_t kChunkTokens = 64;
static_assert(kChunkTokens % kTile == 0);

/// Properties that must agree for state to be exchangeable. Block sizes, threads and SIMD targets may differ.
struct StateKind {
  IdentityDigests identity;         ///< of model, adapter, tokenizer and salt
  uint64_t layout_fingerprint = 0;  ///< CacheLayout::Fingerprint
  DType kv_type = DType::kBF16;     ///< of cached keys and values
  bool lossy = false;               ///< rounded on the way into a store

  friend bool operator==(const StateKind&, const StateKind&) = default;
};

/// Used by one thread at a time.
class TokenChain {
 public:
  /// `tokens` must outlive the chain.
  static Result<TokenChain> Of(const StateKind& kind, std::span<const int32_t> tokens);

  /// As given to Of.
  std::span<const int32_t> tokens() const { return tokens_; }

  /// The digest of the first `count` tokens.
  Result<Sha256Digest> At(size_t count) const;

  /// The key of the state that tokens [begin, end), all of one chunk, added to attention group `group`.
  Result<ChunkKey> TokensKey(size_t group, size_t begin, size_t end) const { return Key("tokens", group, begin, end); }

  /// The key of recurrent group `group`'s state after `count` tokens.
  Result<ChunkKey> StateKey(size_t group, size_t count) const { return Key("state", group, count, count); }

  /// The key of the inputs that the last of `count` tokens gave to the states of recurrent group `group`.
  Result<ChunkKey> InputsKey(size_t group, size_t count) const { return Key("inputs", group, count, count); }

 private:
  explicit TokenChain(std::span<const int32_t> tokens) : tokens_(tokens) {}

  static Result<TokenChain> Make(const StateKind& kind, std::span<const int32_t> tokens);

  static Result<Sha256Digest> Link(Sha256& hash, const Sha256Digest& before, std::span<const int32_t> tokens);

  Result<ChunkKey> Key(std::string_view what, size_t group, size_t begin, size_t end) const;

  std::span<const int32_t> tokens_;
  std::vector<Sha256Digest> links_;  ///< [i] covers the first i chunks
  mutable Sha256 hash_;              ///< reused: making one takes longer than hashing a chunk's tokens
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/token_chain.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_TOKEN_CHAIN_H_
