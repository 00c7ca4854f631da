// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/manifest.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_MANIFEST_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_MANIFEST_H_

#include "skald/store/snapshots/manifest.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/sampling/random.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

SKALD_INLINE uint32_t SavedTable::StoredTokens() const {
  uint32_t stored = edits.empty() ? tokens : 0;
  for (const Segment& run : edits) stored = std::max(stored, run.source + run.length);
  return stored;
}

namespace internal {

inline constexpr uint32_t kManifestVersion = 2;

inline void WriteTable(const SavedTable& table, ByteWriter& writer) {
  writer.Put(table.tokens);
  writer.PutList(std::span<const Segment>(table.edits));
  writer.Put(uint64_t{table.groups.size()});
  for (const SavedGroup& group : table.groups) {
    writer.Put(group.first_token);
    writer.PutList(std::span<const ChunkKey>(group.chunks));
  }
}

SKALD_INLINE void WriteSampler(const SavedSampler& sampler, ByteWriter& writer) {
  const SamplerSettings& s = sampler.settings;
  for (const float value :
       {s.temperature, s.top_p, s.min_p, s.repetition_penalty, s.presence_penalty, s.frequency_penalty}) {
    writer.Put(value);
  }
  // The largest number encodes that there is no number of log-probabilities.
  for (const uint64_t value : {uint64_t{s.top_k}, uint64_t{s.penalty_window}, s.random.seed, s.random.stream,
                               s.num_logprobs ? uint64_t{*s.num_logprobs} : UINT64_MAX}) {
    writer.Put(value);
  }
  writer.PutList(std::span<const LogitBias>(s.logit_bias));
  writer.PutList(std::span<const int32_t>(sampler.state.recent_tokens));
}

SKALD_INLINE SavedSampler ReadSampler(ByteReader& reader) {
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

SKALD_INLINE Failure BadManifest(const std::string& what) {
  return Fail(ErrorCode::kDataLoss, "the snapshot's manifest contradicts itself: " + what);
}

// Checks that edits are an order of `tokens` tokens, each stored at a position of its own. They must be read
// completely, and nothing else is assumed about them.
inline Result<void> CheckEdits(Segments edits, uint32_t tokens) {
  uint64_t total = 0, stored = 0;
  std::sort(edits.begin(), edits.end(), [](const Segment& a, const Segment& b) { return a.source < b.source; });
  for (const Segment& run : edits) {
    if (run.length == 0 || run.source < stored) return BadManifest("edits that take a token twice");
    stored = uint64_t{run.source} + run.length;
    total += run.length;
    if (stored > kMaxTokens) return BadManifest("an impossible edit");
  }
  if (edits.empty() || total == tokens) return {};
  return BadManifest("edits of " + std::to_string(total) + " tokens, expected " + std::to_string(tokens));
}

// The leading positions at which `table` stores the tokens of exactly these positions.
inline uint32_t TokensInPlace(const SavedTable& table) {
  if (table.edits.empty()) return table.tokens;
  return table.edits.front().source == 0 ? table.edits.front().length : 0;
}

// Returns the most chunks that a group may list if it begins at token `first`; an error if it would then lack state
// that a token after the table's end sees.
inline Result<size_t> CountChunks(const SavedTable& table, uint32_t first, const CacheGroup& group, bool lists_inputs,
                                  const std::string& name) {
  const uint32_t end = group.is_attention() ? table.StoredTokens() : table.tokens;
  const auto refused = [&] {
    return BadManifest(name + " begins at token " + std::to_string(first) + " of " + std::to_string(end));
  };
  if (lists_inputs && (group.is_replayed() || group.is_inputs())) {
    if (first > end) return refused();
    return group.is_inputs() ? size_t{end - first} : size_t{first > 0 ? 1u : 0u} + (first < end ? 1u : 0u);
  }
  if (group.is_recurrent()) {
    if (first > end || (first == 0) != (end == 0)) return refused();
    return end > 0 ? end - first + size_t{1} : 0;
  }
  const uint32_t retained = FirstRetained({table.tokens, {}, table.edits}, first);
  if (first > end || retained > group.FirstVisible(table.tokens)) return refused();
  return first < end ? (end + kChunkTokens - 1) / kChunkTokens - first / kChunkTokens : 0;
}

// Reads the tables of a manifest, checking each number before it is used.
class TableReader {
 public:
  TableReader(ByteReader& reader, const CacheLayout& layout) : reader_(reader), layout_(layout) {}

  // The conversation's own table.
  Result<SavedTable> Read(uint32_t tokens) { return ReadTable(tokens, tokens, nullptr); }

  // That of a resume point of at least `least` tokens, which may borrow from `main`.
  Result<SavedTable> ReadCheckpoint(uint32_t least, const SavedTable& main) {
    return ReadTable(least, main.tokens, &main);
  }

  // The fewest bytes that a table takes.
  size_t LeastBytes() const { return kFront + layout_.layer_groups().size() * (sizeof(uint32_t) + sizeof(uint64_t)); }

 private:
  static constexpr size_t kFront = sizeof(uint32_t) + 2 * sizeof(uint64_t);  // tokens, number of edits, of groups

  static Failure CutShort() { return BadManifest("its length does not fit its content"); }

  Result<SavedTable> ReadTable(uint32_t least, uint32_t most, const SavedTable* main) {
    SavedTable table;
    table.tokens = reader_.Get<uint32_t>();
    const size_t edits = reader_.GetCount(sizeof(Segment));
    if (!reader_.ok()) return CutShort();
    if (table.tokens < least || table.tokens > most) {
      return BadManifest("a table of " + std::to_string(table.tokens) + " tokens, expected " + std::to_string(least) +
                         " to " + std::to_string(most));
    }
    if (edits > (main != nullptr || !layout_.moves_tokens() ? 0 : table.tokens)) {
      return BadManifest("edits that no cache can have");
    }
    table.edits = reader_.GetElements<Segment>(edits);
    SKALD_TRY(CheckEdits(table.edits, table.tokens));
    const auto groups = reader_.Get<uint64_t>();
    const size_t of_layers = layout_.layer_groups().size(), all = layout_.groups().size();
    if (groups != of_layers && groups != all) {
      return BadManifest(std::to_string(groups) + " groups, expected " + std::to_string(of_layers));
    }
    const bool lists_inputs = groups > of_layers;
    for (size_t g = 0; g < groups; ++g) {
      SKALD_ASSIGN(auto group, ReadGroup(table, g, lists_inputs, main));
      table.groups.push_back(std::move(group));
    }
    for (uint32_t g = 0; lists_inputs && g < of_layers; ++g) {
      if (!layout_.groups()[g].is_replayed()) continue;
      if (table.groups[layout_.InputsOf(g)].first_token == table.groups[g].first_token) continue;
      return BadManifest("inputs that do not continue the state of group " + std::to_string(g));
    }
    return table;
  }

  Result<SavedGroup> ReadGroup(const SavedTable& table, size_t g, bool lists_inputs, const SavedTable* main) {
    const CacheGroup& group = layout_.groups()[g];
    const std::string name = "group " + std::to_string(g);
    SavedGroup saved{reader_.Get<uint32_t>(), {}};
    const size_t chunks = reader_.GetCount(sizeof(ChunkKey));
    if (!reader_.ok()) return CutShort();
    SKALD_ASSIGN(const auto expected, CountChunks(table, saved.first_token, group, lists_inputs, name));
    if (chunks == 0 && expected > 0 && main != nullptr && group.is_attention()) {
      // Its tokens are those of the conversation's own table, up to the first position where that table stores others.
      if (saved.first_token >= main->groups[g].first_token && table.tokens <= TokensInPlace(*main)) return saved;
      return BadManifest("a resume point relies on tokens that the snapshot does not hold");
    }
    const bool lacks_present = lists_inputs && group.is_replayed() && saved.first_token < table.tokens;
    if (chunks != expected && !(lacks_present && chunks + 1 == expected)) {
      return BadManifest(name + " has " + std::to_string(chunks) + " chunks, expected " + std::to_string(expected));
    }
    saved.chunks = reader_.GetElements<ChunkKey>(chunks);
    return saved;
  }

  ByteReader& reader_;
  const CacheLayout& layout_;
};

// True if a cache can continue from the first `tokens` tokens of `table`; groups that list nothing are `main`'s.
inline bool CanResume(const SavedTable& table, const SavedTable& main, const CacheLayout& layout, uint32_t tokens) {
  if (tokens > table.tokens || !table.edits.empty()) return false;
  for (size_t g = 0; g < table.groups.size(); ++g) {
    const CacheGroup& group = layout.groups()[g];
    const bool listed = !group.is_attention() || !table.groups[g].chunks.empty();
    const uint32_t first = (listed ? table : main).groups[g].first_token;
    if (group.is_attention() ? first > group.FirstVisible(tokens) : first > tokens) return false;
  }
  return true;
}

}  // namespace internal

SKALD_INLINE uint32_t FindResumePoint(const Manifest& manifest, const CacheLayout& layout, uint32_t limit,
                                      const SavedTable*& source) {
  uint32_t best = 0;
  source = nullptr;
  const auto consider = [&](const SavedTable& table) {
    const uint32_t tokens = std::min(limit, table.tokens);
    if (tokens <= best || !internal::CanResume(table, manifest.table, layout, tokens)) return;
    best = tokens;
    source = &table;
  };
  for (const SavedTable& resume_point : manifest.resume_points) consider(resume_point);
  consider(manifest.table);
  return best;
}

SKALD_INLINE std::vector<std::byte> EncodeManifest(const Manifest& manifest) {
  ByteWriter writer;
  writer.Put(internal::kManifestVersion);
  writer.Put(static_cast<uint32_t>(ChunkElementOf(manifest.kind.kv_type)));
  writer.Put(manifest.kind.identity);
  writer.Put(manifest.kind.layout_fingerprint);
  writer.Put(uint32_t{manifest.kind.lossy});
  writer.Put(manifest.exact_tokens);
  writer.PutList(std::span<const int32_t>(manifest.tokens));
  internal::WriteTable(manifest.table, writer);
  writer.Put(uint64_t{manifest.resume_points.size()});
  for (const SavedTable& resume_point : manifest.resume_points) internal::WriteTable(resume_point, writer);
  writer.Put(uint32_t{manifest.notes.sampler.has_value()});
  if (manifest.notes.sampler) internal::WriteSampler(*manifest.notes.sampler, writer);
  writer.PutList(std::span<const float>(manifest.notes.logits));
  writer.PutList(std::span<const std::byte>(manifest.notes.user));
  return writer.bytes();
}

namespace internal {

// Reads the identity of the state. Errors as DecodeManifest.
inline Result<void> ReadKind(ByteReader& reader, const StateKind& expected, Manifest& manifest) {
  const auto version = reader.Get<uint32_t>();
  if (reader.ok() && version == 1) {
    return Fail(ErrorCode::kUnsupported,
                "the snapshot is of an earlier release, which did not write down all facts of the model that it was "
                "computed with: its manifest has version 1, this Skald reads version " +
                    std::to_string(kManifestVersion) + ". Compute the conversation again");
  }
  if (reader.ok() && version != kManifestVersion) {
    return Fail(ErrorCode::kUnsupported, "the snapshot's manifest has version " + std::to_string(version) +
                                             ", this Skald reads version " + std::to_string(kManifestVersion));
  }
  const auto element = reader.Get<uint32_t>();
  manifest.kind.identity = reader.Get<IdentityDigests>();
  manifest.kind.layout_fingerprint = reader.Get<uint64_t>();
  manifest.kind.lossy = reader.Get<uint32_t>() != 0;
  manifest.kind.kv_type = expected.kv_type;
  if (!reader.ok()) return BadManifest("it is cut short");
  SKALD_TRY(manifest.kind.identity.Check(expected.identity));
  if (manifest.kind.layout_fingerprint != expected.layout_fingerprint) {
    return Fail(ErrorCode::kFailedPrecondition,
                "the snapshot was computed with another Config: its cache has another layout, or the model another "
                "number anywhere, or RuntimeConfig::max_tokens chose other factors of its RoPE");
  }
  if (element != static_cast<uint32_t>(ChunkElementOf(expected.kv_type))) {
    return Fail(ErrorCode::kFailedPrecondition, "the snapshot has another RuntimeConfig::kv_type than the pool's " +
                                                    std::string(NameOf(expected.kv_type)));
  }
  return {};
}

SKALD_INLINE Result<Manifest> ReadManifest(std::span<const std::byte> bytes, const StateKind& expected,
                                           const CacheLayout& layout, uint32_t max_tokens) {
  ByteReader reader(bytes);
  Manifest manifest;
  SKALD_TRY(ReadKind(reader, expected, manifest));
  manifest.exact_tokens = reader.Get<uint32_t>();
  const size_t tokens = reader.GetCount(sizeof(int32_t));
  if (tokens > max_tokens) {
    return Fail(ErrorCode::kOutOfRange,
                "the snapshot holds " + std::to_string(tokens) + " tokens, the pool allows " +
                    std::to_string(max_tokens) + " (RuntimeConfig::max_tokens)",
                {.needed_tokens = tokens, .available_tokens = max_tokens});
  }
  manifest.tokens = reader.GetElements<int32_t>(tokens);
  TableReader tables(reader, layout);
  auto table = tables.Read(static_cast<uint32_t>(tokens));
  if (!table) return Failure(table.error());
  manifest.table = std::move(*table);
  uint32_t least = 0;
  for (size_t resume_points = reader.GetCount(tables.LeastBytes()); resume_points > 0; --resume_points) {
    table = tables.ReadCheckpoint(least, manifest.table);
    if (!table) return Failure(table.error());
    least = table->tokens;
    manifest.resume_points.push_back(std::move(*table));
  }
  if (reader.Get<uint32_t>() != 0) manifest.notes.sampler = ReadSampler(reader);
  manifest.notes.logits = reader.GetList<float>();
  manifest.notes.user = reader.GetList<std::byte>();
  if (!reader.Finished()) return BadManifest("its length does not fit its content");
  return manifest;
}

}  // namespace internal

SKALD_INLINE Result<Manifest> DecodeManifest(std::span<const std::byte> bytes, const StateKind& expected,
                                             const CacheLayout& layout, uint32_t max_tokens) {
  return NoThrow("the snapshot's manifest",
                 [&] { return internal::ReadManifest(bytes, expected, layout, max_tokens); });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_MANIFEST_H_
