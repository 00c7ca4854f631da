// SPDX-License-Identifier: Apache-2.0
//
// Snapshots that must not load: each is refused with a sentence, and neither pool nor cache notices.

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/check_error.h"
#include "tests/support/small_configs.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace bad_snapshot_test {

constexpr RuntimeConfig kRuntime = {.max_tokens = 100, .block_tokens = 32, .resume_point_every = 10};

const SmallModel& Mamba2Model() { return SmallModelNamed("small-mamba2"); }

KVCache Talk(size_t tokens = 40) {
  static const RandomModel model(Mamba2Model(), 4);
  KVCache cache = NewCache(Mamba2Model(), kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  REQUIRE(model.Forward(cache, RandomTokens(Mamba2Model(), 8, tokens), workspace));
  return cache;
}

std::vector<std::byte> Save(const KVCache& cache, const Identity& identity = {}) {
  std::vector<std::byte> buffer(*SnapshotBytes(cache, identity, {}));
  REQUIRE(SaveSnapshot(cache, identity, {}, std::span(buffer)));
  return buffer;
}

void CheckRefused(std::span<const std::byte> bytes, ErrorCode code, const std::string& text,
                  const Identity& identity = {}, const RuntimeConfig& runtime = kRuntime,
                  const SmallModel& small = Mamba2Model()) {
  auto pool = NewPool(small, runtime);
  const auto snapshot = LoadSnapshot(bytes, identity, pool);
  REQUIRE_FALSE(snapshot);
  CAPTURE(snapshot.error().message);
  CHECK(snapshot.error().code == code);
  CHECK(snapshot.error().message.find(text) != std::string::npos);
  CHECK(pool->usage().used_bytes == 0);
}

TEST_CASE("no byte of a snapshot can be changed unnoticed") {
  const std::vector<std::byte> bytes = Save(Talk(3));
  auto pool = NewPool(Mamba2Model(), kRuntime);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{static_cast<uint8_t>(1u << (i % 8))};
    CAPTURE(i);
    CHECK_FALSE(LoadSnapshot(damaged, {}, pool));
    CHECK(pool->usage().used_bytes == 0);
  }
}

TEST_CASE("a pool without bytes is refused: there is nothing to save, and nowhere to load to") {
  const auto ledger = NewLedgerPool(Mamba2Model(), kRuntime);
  const KVCache cache = *CreateKVCache(ledger);
  MemoryStore store(kUnlimited);
  for (const Error& error :
       {SaveSnapshot(cache, {}, {}, store).error(), LoadSnapshot(Save(Talk(3)), {}, ledger).error()}) {
    CHECK(error.code == ErrorCode::kFailedPrecondition);
    CHECK(error.message.find("CreateLedgerPool") != std::string::npos);
  }
}

TEST_CASE("no snapshot that is cut short loads") {
  const std::vector<std::byte> bytes = Save(Talk(3));
  auto pool = NewPool(Mamba2Model(), kRuntime);
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(LoadSnapshot(std::span(bytes).first(size), {}, pool));
  }
  CHECK(pool->usage().used_bytes == 0);
  CHECK(LoadSnapshot(bytes, {}, pool));
}

TEST_CASE("state of another identity is refused, and the error says what differs") {
  Identity ours;
  ours.weights[0] = ours.adapter[0] = ours.tokenizer[0] = std::byte{1};
  ours.salt = "tenant";
  CacheContents adapted = *Talk().Contents();
  adapted.adapter = ours.adapter;
  const std::vector<std::byte> bytes = Save(KVCache(std::move(adapted)), ours);
  const auto with = [&ours](auto change) {
    Identity other = ours;
    change(other);
    return other;
  };
  const auto refused = [&](const std::string& text, auto change) {
    CheckRefused(bytes, ErrorCode::kFailedPrecondition, text, with(change));
  };
  refused("other weights: its digest is 0100000000000000..., expected 02",
          [](Identity& i) { i.weights[0] = std::byte{2}; });
  refused("loaded as another type", [](Identity& i) { i.weight_type = DType::kF32; });
  refused("another adapter", [](Identity& i) { i.adapter = {}; });
  refused("another tokenizer", [](Identity& i) { i.tokenizer = {}; });
  refused("another salt", [](Identity& i) { i.salt = "other"; });
}

TEST_CASE("state of another version of the arithmetic is refused, unless it is of weights that are floats") {
  IdentityDigests before = *IdentityDigests::Of({}), now = before;
  before.weight_type &= 0xFFFF;
  CHECK(before.Check(now));
  now = *IdentityDigests::Of({.weight_type = DType::kF32});
  CheckError(before.Check(now), ErrorCode::kFailedPrecondition, "another version of the arithmetic");
  now = *IdentityDigests::Of({.quantised_files = true});
  CHECK(now.Check(now));
  CheckError(before.Check(now), ErrorCode::kFailedPrecondition, "another version of the arithmetic");
  before = now = *IdentityDigests::Of({.weight_type = DType::kQ4_0});
  CHECK(before.Check(now));
  before.weight_type &= 0xFFFF;
  CheckError(before.Check(now), ErrorCode::kFailedPrecondition, "another version of the arithmetic");
}

// State of the same form, and other numbers in it.
struct OtherEpsilon : SmallMamba2 {
  static constexpr float kNormEpsilon = 2 * SmallMamba2::kNormEpsilon;
};

TEST_CASE("another Config, element type or limit is refused by name") {
  const std::vector<std::byte> bytes = Save(Talk());
  for (const SmallModel& other : {SmallModelNamed("hybrid"), SmallModelOf<OtherEpsilon>()}) {
    CheckRefused(bytes, ErrorCode::kFailedPrecondition, "another Config", {}, kRuntime, other);
  }
  RuntimeConfig runtime = kRuntime;
  for (const DType type : {DType::kF32, DType::kI8}) {
    runtime.kv_type = type;
    CheckRefused(bytes, ErrorCode::kFailedPrecondition, "kv_type", {}, runtime);
  }
  runtime = kRuntime;
  runtime.max_tokens = 39;
  CheckRefused(bytes, ErrorCode::kOutOfRange, "holds 40 tokens, the pool allows 39", {}, runtime);
  runtime = kRuntime;
  runtime.cache_bytes = 100;
  CheckRefused(bytes, ErrorCode::kResourceExhausted, "the block pool is full", {}, runtime);
}

TEST_CASE("what is no snapshot is refused as such") {
  CheckRefused({}, ErrorCode::kDataLoss, "the bytes end");
  std::vector<std::byte> bytes(1000, std::byte{'x'});
  CheckRefused(bytes, ErrorCode::kDataLoss, "not a snapshot");
  bytes = Save(Talk());
  const uint32_t version = 9;
  std::memcpy(bytes.data() + 8, &version, sizeof version);
  CheckRefused(bytes, ErrorCode::kUnsupported, "version 9");
  bytes = Save(Talk());
  const uint64_t huge = UINT64_MAX;
  std::memcpy(bytes.data() + sizeof(internal::StreamHeader), &huge, sizeof huge);
  CheckRefused(bytes, ErrorCode::kDataLoss, "expected at most");
}

TEST_CASE("a buffer that is too small is refused") {
  const KVCache cache = Talk();
  std::vector<std::byte> buffer(*SnapshotBytes(cache, {}, {}) - 1);
  const auto saved = SaveSnapshot(cache, {}, {}, std::span(buffer));
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == ErrorCode::kResourceExhausted);
}

TEST_CASE("a store that lost or mixed up chunks gives errors that name them") {
  const KVCache cache = Talk();
  MemoryStore store(kUnlimited);
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store);
  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& lost : keys) {
    const ChunkBytes content = *store.Get(lost);
    REQUIRE(store.Drop(lost));
    auto pool = NewPool(Mamba2Model(), kRuntime);
    auto snapshot = LoadSnapshot(store, key, {}, pool);
    REQUIRE_FALSE(snapshot);
    CHECK(snapshot.error().code == ErrorCode::kNotFound);
    CHECK(snapshot.error().message.find(lost.ToHex()) != std::string::npos);
    CHECK(pool->usage().used_bytes == 0);

    REQUIRE(store.Put(lost, *store.Get(lost == keys[0] ? keys[1] : keys[0])));
    snapshot = LoadSnapshot(store, key, {}, pool);
    REQUIRE_FALSE(snapshot);
    CHECK(snapshot.error().code == ErrorCode::kDataLoss);
    REQUIRE(store.Drop(lost));
    REQUIRE(store.Put(lost, content));
  }
  CHECK(LoadSnapshot(store, key, {}, NewPool(Mamba2Model(), kRuntime)));
}

TEST_CASE("a store too small for a snapshot says so instead of keeping a part of it") {
  const KVCache cache = Talk();
  MemoryStore roomy(kUnlimited);
  REQUIRE(SaveSnapshot(cache, {}, {}, roomy));
  uint64_t bytes = 0;
  const std::vector<ChunkKey> keys = *roomy.List();
  for (const ChunkKey& key : keys) bytes += roomy.Get(key)->size();
  MemoryStore small(bytes / 2);
  const auto saved = SaveSnapshot(cache, {}, {}, small);
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == ErrorCode::kResourceExhausted);
  CHECK(saved.error().message.find("no room for the snapshot") != std::string::npos);
}

TEST_CASE("a manifest whose checksum is right may still contradict itself") {
  const KVCache cache = Talk();
  const StateKind kind = *internal::StateKindOf(*cache.pool(), {}, ChunkCodec::kNone);
  const Manifest good = SnapshotPlan::Make(cache, kind, {}, ChunkCodec::kNone)->manifest();
  const CacheLayout& layout = cache.pool()->layout();
  CHECK(DecodeManifest(EncodeManifest(good), kind, layout));
  const auto refused = [&](auto change) {
    Manifest bad = good;
    change(bad);
    const auto decoded = DecodeManifest(EncodeManifest(bad), kind, layout);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::kDataLoss);
  };
  refused([](Manifest& m) { m.tokens.pop_back(); });
  refused([](Manifest& m) { m.table.groups[0].chunks.clear(); });
  refused([](Manifest& m) { m.table.groups[0].first_token = 7; });
  refused([](Manifest& m) { m.table.groups.pop_back(); });
  refused([](Manifest& m) { m.table.edits = {{0, 40}}; });
  refused([](Manifest& m) { std::swap(m.resume_points.front(), m.resume_points.back()); });
  refused([](Manifest& m) { m.resume_points.back().tokens = 41; });
}

TEST_CASE("a manifest must hold all that the next token sees, at every resume point") {
  for (const bool recurrent : {true, false}) {
    KVCache cache = *CreateKVCache(TinyLayout(recurrent), {.resume_point_every = 20, .rewind_tokens = 2});
    const CacheLayout& layout = cache.pool()->layout();
    const StateKind kind = *internal::StateKindOf(*cache.pool(), {}, ChunkCodec::kNone);
    const auto manifest_of = [&] { return SnapshotPlan::Make(cache, kind, {}, ChunkCodec::kNone)->manifest(); };
    const auto refused = [&](Manifest bad) {
      const auto decoded = DecodeManifest(EncodeManifest(bad), kind, layout);
      REQUIRE_FALSE(decoded);
      CHECK(decoded.error().message.find("begins at token") != std::string::npos);
    };
    for (uint32_t g = 0; g < layout.groups().size(); ++g) {
      Manifest empty = manifest_of();
      empty.table.groups[g].first_token = 8;
      refused(empty);
    }
    REQUIRE(GrowTiny(cache, 1, 100));
    for (const uint32_t first : {1u, 62u, 100u}) {  // all is needed of group 0, and the last 39 tokens of group 1
      Manifest bad = manifest_of();
      SavedGroup& group = bad.table.groups[first == 62 ? 1 : 0];
      group = {first, {}};
      if (first < 100) group.chunks.resize(2 - first / kChunkTokens);
      refused(bad);
    }
    Manifest bad = manifest_of();
    bad.resume_points.back().groups[0] = {bad.resume_points.back().tokens, {}};
    refused(bad);
  }
}

}  // namespace bad_snapshot_test
}  // namespace skald::testing
