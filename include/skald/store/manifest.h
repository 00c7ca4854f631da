// SPDX-License-Identifier: Apache-2.0
//
// Manifest: a snapshot's table of contents: what state it is, its tokens, which chunks hold it, and what else the
// caller keeps with it. FORMAT.md describes its bytes. Reading one checks everything that can be checked without the
// chunks.

#ifndef SKALD_STORE_MANIFEST_H_
#define SKALD_STORE_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/byte_codec.h"
#include "skald/base/result.h"
#include "skald/cache/block_table.h"
#include "skald/cache/layout.h"
#include "skald/cache/runtime_config.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/settings.h"
#include "skald/store/chunk_key.h"
#include "skald/store/token_chain.h"

namespace skald {

struct SavedSampler {
  SamplerSettings settings;
  SamplerState state;
};

// What goes with a conversation beside its cache; all of it optional.
struct SnapshotNotes {
  std::optional<SavedSampler> sampler = {};
  std::vector<float> logits = {};    // of the last token, so that the next one is sampled without computing
  std::vector<std::byte> user = {};  // the caller's own
};

// What of one group is saved. Attention: chunks of kChunkTokens from the one that holds first_token on, without what
// lies before its tile. Recurrence: states after first_token, first_token + 1, ... tokens.
struct SavedGroup {
  uint32_t first_token = 0;
  std::vector<ChunkKey> chunks;

  friend bool operator==(const SavedGroup&, const SavedGroup&) = default;
};

// A block table, with chunks in place of blocks.
struct SavedTable {
  uint32_t tokens = 0;
  Segments edits;
  std::vector<SavedGroup> groups;

  friend bool operator==(const SavedTable&, const SavedTable&) = default;

  // Positions that attention groups hold state of: those of its tokens, or with pending edits up to the last one
  // stored.
  uint32_t StoredTokens() const {
    uint32_t stored = edits.empty() ? tokens : 0;
    for (const Segment& run : edits) stored = std::max(stored, run.source + run.length);
    return stored;
  }
};

struct Manifest {
  StateKind kind;
  uint32_t exact_tokens = 0;
  std::vector<int32_t> tokens;
  SavedTable table;
  std::vector<SavedTable> checkpoints;  // attention groups list only what `table` no longer holds
  SnapshotNotes notes;
};

namespace internal {

inline constexpr uint32_t kManifestVersion = 1;

inline void WriteTable(const SavedTable& table, ByteWriter& writer) {
  writer.Put(table.tokens);
  writer.PutList(std::span<const Segment>(table.edits));
  writer.Put(uint64_t{table.groups.size()});
  for (const SavedGroup& group : table.groups) {
    writer.Put(group.first_token);
    writer.PutList(std::span<const ChunkKey>(group.chunks));
  }
}

inline SavedTable ReadTable(ByteReader& reader) {
  SavedTable table;
  table.tokens = reader.Get<uint32_t>();
  table.edits = reader.GetList<Segment>();
  table.groups.resize(reader.GetCount(sizeof(uint32_t) + sizeof(uint64_t)));
  for (SavedGroup& group : table.groups) {
    group.first_token = reader.Get<uint32_t>();
    group.chunks = reader.GetList<ChunkKey>();
  }
  return table;
}

inline void WriteSampler(const SavedSampler& sampler, ByteWriter& writer) {
  const SamplerSettings& s = sampler.settings;
  for (const float value :
       {s.temperature, s.top_p, s.min_p, s.repetition_penalty, s.presence_penalty, s.frequency_penalty}) {
    writer.Put(value);
  }
  // No number of log-probabilities is written as the largest one.
  for (const uint64_t value : {uint64_t{s.top_k}, uint64_t{s.penalty_window}, s.random.seed, s.random.stream,
                               s.num_logprobs ? uint64_t{*s.num_logprobs} : UINT64_MAX}) {
    writer.Put(value);
  }
  writer.PutList(std::span<const LogitBias>(s.logit_bias));
  writer.PutList(std::span<const int32_t>(sampler.state.recent_tokens));
}

inline SavedSampler ReadSampler(ByteReader& reader) {
  SavedSampler sampler;
  SamplerSettings& s = sampler.settings;
  for (float* value :
       {&s.temperature, &s.top_p, &s.min_p, &s.repetition_penalty, &s.presence_penalty, &s.frequency_penalty}) {
    *value = reader.Get<float>();
  }
  s.top_k = static_cast<size_t>(reader.Get<uint64_t>());
  s.penalty_window = static_cast<size_t>(reader.Get<uint64_t>());
  s.random.seed = reader.Get<uint64_t>();
  s.random.stream = reader.Get<uint64_t>();
  const auto num_logprobs = reader.Get<uint64_t>();
  if (num_logprobs != UINT64_MAX) s.num_logprobs = static_cast<size_t>(num_logprobs);
  s.logit_bias = reader.GetList<LogitBias>();
  sampler.state.recent_tokens = reader.GetList<int32_t>();
  return sampler;
}

inline Failure BadManifest(const std::string& what) {
  return Fail(ErrorCode::kDataLoss, "the snapshot's manifest contradicts itself: " + what);
}

// Checks that a group can be what its table says, and that a token after it would find all that it sees. The numbers
// are known to be read whole, and nothing else. `is_shared`: its chunks are those of another table.
inline Result<void> CheckGroup(const SavedTable& table, const SavedGroup& saved, const CacheGroup& group,
                               const std::string& name, bool is_shared) {
  const uint32_t end = group.is_recurrent() ? table.tokens : table.StoredTokens(), first = saved.first_token;
  const std::string begins = name + " begins at token " + std::to_string(first) + " of " + std::to_string(end);
  size_t expected = 0;
  if (group.is_recurrent()) {
    if (first > end || (first == 0) != (end == 0)) return BadManifest(begins);
    if (end > 0) expected = end - first + size_t{1};
  } else {
    const uint32_t retained = FirstRetained({table.tokens, {}, table.edits}, first);
    if (first > end || retained > group.FirstVisible(table.tokens)) return BadManifest(begins);
    if (first < end) expected = (end + kChunkTokens - 1) / kChunkTokens - first / kChunkTokens;
  }
  if (is_shared || saved.chunks.size() == expected) return {};
  return BadManifest(name + " has " + std::to_string(saved.chunks.size()) + " chunks, expected " +
                     std::to_string(expected));
}

inline Result<void> CheckTable(const SavedTable& table, const CacheLayout& layout, bool is_checkpoint) {
  if (table.groups.size() != layout.groups().size()) {
    return BadManifest(std::to_string(table.groups.size()) + " groups, expected " +
                       std::to_string(layout.groups().size()));
  }
  uint64_t total = 0;
  for (const Segment& run : table.edits) {
    if (run.length == 0 || run.source > kMaxTokens || run.length > kMaxTokens) return BadManifest("an impossible edit");
    total += run.length;
  }
  if (!table.edits.empty() && (total != table.tokens || is_checkpoint || layout.has_recurrence())) {
    return BadManifest("edits that no cache can have");
  }
  for (size_t g = 0; g < table.groups.size(); ++g) {
    const bool is_shared = is_checkpoint && !layout.groups()[g].is_recurrent() && table.groups[g].chunks.empty();
    const std::string name = "group " + std::to_string(g);
    if (auto valid = CheckGroup(table, table.groups[g], layout.groups()[g], name, is_shared); !valid) return valid;
  }
  return {};
}

}  // namespace internal

namespace internal {

// True if a cache can go on from the first `tokens` tokens of `table`, where groups that list nothing are `main`'s.
inline bool CanResume(const SavedTable& table, const SavedTable& main, const CacheLayout& layout, uint32_t tokens) {
  if (tokens > table.tokens || !table.edits.empty()) return false;
  for (size_t g = 0; g < table.groups.size(); ++g) {
    const CacheGroup& group = layout.groups()[g];
    const bool listed = group.is_recurrent() || !table.groups[g].chunks.empty();
    const uint32_t first = (listed ? table : main).groups[g].first_token;
    if (group.is_recurrent() ? first > tokens : first > group.FirstVisible(tokens)) return false;
  }
  return true;
}

}  // namespace internal

// Returns the largest resume point of `manifest` at or before `limit`, and in `source` the table to load it from; 0 and
// null where there is none.
inline uint32_t FindResumePoint(const Manifest& manifest, const CacheLayout& layout, uint32_t limit,
                                const SavedTable*& source) {
  uint32_t best = 0;
  source = nullptr;
  const auto consider = [&](const SavedTable& table) {
    const uint32_t tokens = std::min(limit, table.tokens);
    if (tokens <= best || !internal::CanResume(table, manifest.table, layout, tokens)) return;
    best = tokens;
    source = &table;
  };
  for (const SavedTable& checkpoint : manifest.checkpoints) consider(checkpoint);
  consider(manifest.table);
  return best;
}

inline std::vector<std::byte> EncodeManifest(const Manifest& manifest) {
  ByteWriter writer;
  writer.Put(internal::kManifestVersion);
  writer.Put(static_cast<uint32_t>(ChunkElementOf(manifest.kind.kv_type)));
  writer.Put(manifest.kind.identity);
  writer.Put(manifest.kind.layout_fingerprint);
  writer.Put(uint32_t{manifest.kind.lossy});
  writer.Put(manifest.exact_tokens);
  writer.PutList(std::span<const int32_t>(manifest.tokens));
  internal::WriteTable(manifest.table, writer);
  writer.Put(uint64_t{manifest.checkpoints.size()});
  for (const SavedTable& checkpoint : manifest.checkpoints) internal::WriteTable(checkpoint, writer);
  writer.Put(uint32_t{manifest.notes.sampler.has_value()});
  if (manifest.notes.sampler) internal::WriteSampler(*manifest.notes.sampler, writer);
  writer.PutList(std::span<const float>(manifest.notes.logits));
  writer.PutList(std::span<const std::byte>(manifest.notes.user));
  return writer.bytes();
}

// Reads a manifest whose state must be of kind `expected`, lossy or not, and fit `layout`. Errors: kDataLoss for
// damaged bytes or contradictions, kUnsupported for another version, kFailedPrecondition for state of another kind,
// naming what differs.
inline Result<Manifest> DecodeManifest(std::span<const std::byte> bytes, const StateKind& expected,
                                       const CacheLayout& layout) {
  ByteReader reader(bytes);
  const auto version = reader.Get<uint32_t>();
  if (reader.ok() && version != internal::kManifestVersion) {
    return Fail(ErrorCode::kUnsupported, "the snapshot's manifest has version " + std::to_string(version) +
                                             ", this Skald reads version " +
                                             std::to_string(internal::kManifestVersion));
  }
  Manifest manifest;
  const auto element = reader.Get<uint32_t>();
  manifest.kind.identity = reader.Get<IdentityDigests>();
  manifest.kind.layout_fingerprint = reader.Get<uint64_t>();
  const auto lossy = reader.Get<uint32_t>();
  manifest.exact_tokens = reader.Get<uint32_t>();
  if (!reader.ok()) return internal::BadManifest("it is cut short");

  if (auto same = manifest.kind.identity.Check(expected.identity); !same) return Failure(same.error());
  if (manifest.kind.layout_fingerprint != expected.layout_fingerprint) {
    return Fail(ErrorCode::kFailedPrecondition, "the snapshot is of a cache of another layout, so of another Config");
  }
  if (element != static_cast<uint32_t>(ChunkElementOf(expected.kv_type))) {
    return Fail(ErrorCode::kFailedPrecondition, "the snapshot has another RuntimeConfig::kv_type than the pool's " +
                                                    std::string(NameOf(expected.kv_type)));
  }
  manifest.kind.kv_type = expected.kv_type;
  manifest.kind.lossy = lossy != 0;

  manifest.tokens = reader.GetList<int32_t>();
  manifest.table = internal::ReadTable(reader);
  manifest.checkpoints.resize(reader.GetCount(sizeof(uint32_t) + 2 * sizeof(uint64_t)));
  for (SavedTable& checkpoint : manifest.checkpoints) checkpoint = internal::ReadTable(reader);
  if (reader.Get<uint32_t>() != 0) manifest.notes.sampler = internal::ReadSampler(reader);
  manifest.notes.logits = reader.GetList<float>();
  manifest.notes.user = reader.GetList<std::byte>();
  if (!reader.Finished()) return internal::BadManifest("its length does not fit its content");

  if (manifest.table.tokens != manifest.tokens.size()) return internal::BadManifest("two numbers of tokens");
  if (auto valid = internal::CheckTable(manifest.table, layout, false); !valid) return Failure(valid.error());
  uint32_t before = 0;
  for (const SavedTable& checkpoint : manifest.checkpoints) {
    if (checkpoint.tokens < before || checkpoint.tokens > manifest.table.tokens) {
      return internal::BadManifest("checkpoints out of order");
    }
    before = checkpoint.tokens;
    if (auto valid = internal::CheckTable(checkpoint, layout, true); !valid) return Failure(valid.error());
  }
  return manifest;
}

}  // namespace skald

#endif  // SKALD_STORE_MANIFEST_H_
