// SPDX-License-Identifier: Apache-2.0
//
// Manifest: a snapshot's table of contents: the identity of its state, its tokens, the chunks that hold it, and the
// caller's notes. SNAPSHOT_FORMAT.md describes its bytes. Reading one checks everything that can be checked without the
// chunks, and allocates memory for a number only after checking it.

#ifndef SKALD_STORE_SNAPSHOTS_MANIFEST_H_
#define SKALD_STORE_SNAPSHOTS_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/base/numbers/byte_codec.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/settings.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

/// The state of sampling, from which it goes on as if the conversation had never been saved.
struct SavedSampler {
  SamplerSettings settings;  ///< with the stream of draws
  SamplerState state;        ///< after the last token
};

/// Optional data that is saved with a conversation beside its cache.
struct SnapshotNotes {
  std::optional<SavedSampler> sampler = {};  ///< unset: none was saved
  std::vector<float> logits = {};            ///< of the last token, so that the next one is sampled without computing
  std::vector<std::byte> user = {};          ///< the caller's own
};

/// The saved part of one group. Attention: chunks of kChunkTokens from the one that holds first_token on, without the
/// tokens before its tile. Recurrence: states after first_token, first_token + 1, ... tokens. If a table also lists
/// groups of inputs, a replayed group and its inputs are as in a BlockTable.
struct SavedGroup {
  uint32_t first_token = 0;      ///< as in GroupTable
  std::vector<ChunkKey> chunks;  ///< in the order of positions

  friend bool operator==(const SavedGroup&, const SavedGroup&) = default;
};

/// A block table, with chunks in place of blocks.
struct SavedTable {
  uint32_t tokens = 0;             ///< that the table holds
  Segments edits;                  ///< as in BlockTable
  std::vector<SavedGroup> groups;  ///< as CacheLayout::groups

  friend bool operator==(const SavedTable&, const SavedTable&) = default;

  /// Positions that attention groups hold state of: those of its tokens, or with pending edits up to the last one
  /// stored.
  uint32_t StoredTokens() const;
};

struct Manifest {
  StateKind kind;                         ///< whose state it is
  uint32_t exact_tokens = 0;              ///< as KVCache::exact_tokens
  std::vector<int32_t> tokens;            ///< token ids
  SavedTable table;                       ///< of the cache
  std::vector<SavedTable> resume_points;  ///< attention groups list only chunks that `table` lacks
  SnapshotNotes notes;                    ///< beside the cache
};

namespace internal {

void WriteSampler(const SavedSampler& sampler, ByteWriter& writer);

SavedSampler ReadSampler(ByteReader& reader);

Failure BadManifest(const std::string& what);

}  // namespace internal

/// Returns the largest resume point of `manifest` at or before `limit`, and in `source` the table to load it from; 0
/// and null if there is none.
uint32_t FindResumePoint(const Manifest& manifest, const CacheLayout& layout, uint32_t limit,
                         const SavedTable*& source);

std::vector<std::byte> EncodeManifest(const Manifest& manifest);

namespace internal {

Result<Manifest> ReadManifest(std::span<const std::byte> bytes, const StateKind& expected, const CacheLayout& layout,
                              uint32_t max_tokens);

}  // namespace internal

/// Reads a manifest whose state must be of kind `expected`, lossy or not, and fit `layout`. Errors: kDataLoss for
/// damaged bytes or contradictions, kUnsupported for another version, kFailedPrecondition for state of another kind,
/// naming what differs; kOutOfRange for more than `max_tokens` tokens.
Result<Manifest> DecodeManifest(std::span<const std::byte> bytes, const StateKind& expected, const CacheLayout& layout,
                                uint32_t max_tokens = kMaxTokens);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/manifest.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_MANIFEST_H_
