// SPDX-License-Identifier: Apache-2.0
//
// Resuming equals never having stopped: a conversation that was saved and loaded goes on with the same bits, whatever
// it was saved to and wherever it is taken up.

#include "skald/store/snapshots/snapshot.h"

#include <array>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace snapshot_test {

constexpr RuntimeConfig kSaved = {.block_tokens = 64, .resume_point_every = 48, .rewind_tokens = 3};
constexpr RuntimeConfig kLoaded = {.block_tokens = 96, .rewind_tokens = 3};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<std::byte> SaveToBuffer(const KVCache& cache, const SnapshotNotes& notes = {},
                                    const SnapshotOptions& options = {}) {
  std::vector<std::byte> buffer(*SnapshotBytes(cache, {}, notes, options));
  REQUIRE(SaveSnapshot(cache, {}, notes, std::span(buffer), options));
  return buffer;
}

// A conversation of 170 tokens, and what the next 30 would give.
struct Fixture {
  const SmallModel& small;
  RandomModel model{small, 4};
  std::vector<int32_t> tokens = RandomTokens(small, 8, 200);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::span<const int32_t> rest = std::span<const int32_t>(tokens).subspan(170);

  KVCache Talk(const RuntimeConfig& runtime = kSaved) {
    KVCache cache = NewCache(small, runtime);
    REQUIRE(model.Forward(cache, std::span<const int32_t>(tokens).first(170), workspace, {.pass_tokens = 50}));
    return cache;
  }
  std::vector<float> GoOn(KVCache cache, size_t from = 170) {
    return AllLogits(model, cache, std::span<const int32_t>(tokens).subspan(from), 200, workspace);
  }
};

SKALD_LAW("a loaded conversation goes on with the same bits", small) {
  Fixture f{small};
  for (const DType type : {DType::kBF16, DType::kF32, DType::kI8}) {
    RuntimeConfig saved = kSaved, loaded = kLoaded;
    saved.kv_type = loaded.kv_type = type;
    const KVCache cache = f.Talk(saved);
    const std::vector<float> expected = f.GoOn(*cache.Fork());
    for (const ChunkCodec codec : {ChunkCodec::kNone, ChunkCodec::kSplitZstd}) {
      const std::vector<std::byte> bytes = SaveToBuffer(cache, {}, {codec});
      auto snapshot = LoadSnapshot(bytes, {}, NewPool(small, loaded));
      REQUIRE(snapshot);
      CHECK(std::equal(cache.tokens().begin(), cache.tokens().end(), snapshot->cache.tokens().begin()));
      CHECK(SameBits(f.GoOn(std::move(snapshot->cache)), expected));
    }
  }
}

// A LongRoPE turns keys otherwise in caches for more tokens than its original context, here 4096.
TEST_CASE("a conversation is not taken up where a LongRoPE has its other factors") {
  Fixture f{SmallModelNamed("newer-attention")};
  for (const auto& [saved, same, other] : {std::array{4096u, 200u, 4097u}, {4097u, 8192u, 4096u}}) {
    const KVCache cache = f.Talk({.max_tokens = saved});
    const std::vector<std::byte> bytes = SaveToBuffer(cache);
    auto snapshot = LoadSnapshot(bytes, {}, NewPool(f.small, {.max_tokens = same}));
    REQUIRE_MESSAGE(snapshot.has_value(), snapshot.error().message);
    CHECK(SameBits(f.GoOn(std::move(snapshot->cache)), f.GoOn(*cache.Fork())));
    CheckError(LoadSnapshot(bytes, {}, NewPool(f.small, {.max_tokens = other})), ErrorCode::kFailedPrecondition,
               "computed with another Config");
  }
}

SKALD_LAW("many workers write and read what one does", small) {
  Fixture f{small};
  const KVCache cache = f.Talk();
  const std::vector<float> expected = f.GoOn(*cache.Fork());
  for (const size_t workers : {2u, 7u}) {
    ThreadPool threads(workers);
    const ExecutorRef executor(threads);
    for (const ChunkCodec codec : {ChunkCodec::kNone, ChunkCodec::kSplitZstd}) {
      const std::vector<std::byte> bytes = SaveToBuffer(cache, {}, {codec, executor});
      CHECK(bytes == SaveToBuffer(cache, {}, {codec}));
      auto snapshot = LoadSnapshot(bytes, {}, NewPool(small, kLoaded), executor);
      REQUIRE(snapshot);
      CHECK(SameBits(f.GoOn(std::move(snapshot->cache)), expected));

      MemoryStore store(kUnlimited);
      const ChunkKey key = *SaveSnapshot(cache, {}, {}, store, {codec, executor});
      snapshot = LoadSnapshot(store, key, {}, NewPool(small, kLoaded), executor);
      REQUIRE(snapshot);
      CHECK(SameBits(f.GoOn(std::move(snapshot->cache)), expected));
    }
  }
}

TEST_CASE("with many workers too the first damaged chunk is the one that is named, and a full pool is told") {
  Fixture f{SmallModelNamed("hybrid")};
  ThreadPool threads(3);
  const KVCache cache = f.Talk();
  std::vector<std::byte> bytes = SaveToBuffer(cache, {}, {ChunkCodec::kNone});
  auto small = kLoaded;
  small.cache_bytes = 1;
  const auto full = LoadSnapshot(bytes, {}, NewPool(f.small, small), ExecutorRef(threads));
  REQUIRE_FALSE(full);
  CHECK(full.error().code == ErrorCode::kResourceExhausted);
  for (size_t i = 200; i < bytes.size(); i += bytes.size() / 50) {
    CAPTURE(i);
    bytes[i] ^= std::byte{1};
    const auto one = LoadSnapshot(bytes, {}, NewPool(f.small, kLoaded));
    const auto many = LoadSnapshot(bytes, {}, NewPool(f.small, kLoaded), ExecutorRef(threads));
    bytes[i] ^= std::byte{1};
    REQUIRE_FALSE(one);
    REQUIRE_FALSE(many);
    CHECK(one.error().message == many.error().message);
  }
}

SKALD_LAW("resume points and their resume points are part of a snapshot", small) {
  Fixture f{small};
  KVCache cache = f.Talk();
  const std::vector<std::byte> bytes = SaveToBuffer(cache);
  for (const uint32_t position : {168u, 144u, 96u, 48u, 0u}) {
    CAPTURE(position);
    auto snapshot = LoadSnapshot(bytes, {}, NewPool(small, kLoaded));
    REQUIRE(snapshot);
    CHECK(snapshot->cache.ResumePoints()->front() == cache.ResumePoints()->front());
    REQUIRE(snapshot->cache.Truncate(position));
    KVCache original = *cache.Fork();
    REQUIRE(original.Truncate(position));
    CHECK(SameBits(f.GoOn(std::move(snapshot->cache), position), f.GoOn(std::move(original), position)));
  }
}

SKALD_LAW("a rewound conversation is saved as it stands, and goes on where nothing is kept for rewinding", small) {
  Fixture f{small};
  KVCache cache = f.Talk();
  const uint32_t position = cache.size() - 2;
  REQUIRE(cache.Truncate(position));
  auto snapshot = LoadSnapshot(SaveToBuffer(cache), {}, NewPool(small, {.block_tokens = 32}));
  REQUIRE(snapshot);
  CHECK(SameBits(f.GoOn(std::move(snapshot->cache), position), f.GoOn(std::move(cache), position)));
}

SKALD_LAW("of states that an earlier release kept where inputs are replayed now, the present one is read", small) {
  Fixture f{small};
  KVCache cache = *CreateKVCache(KeepingStates(small.layout), {.rewind_tokens = 3});
  const std::span<const int32_t> tokens = std::span<const int32_t>(f.tokens).first(100);
  REQUIRE(f.model.Forward(cache, tokens, f.workspace));
  auto snapshot = LoadSnapshot(SaveToBuffer(cache), {}, NewPool(small, kLoaded));
  REQUIRE(snapshot);
  CHECK(SameBits(f.GoOn(std::move(snapshot->cache), 100), f.GoOn(std::move(cache), 100)));
}

SKALD_LAW("through a store, saving again writes only what is new", small) {
  Fixture f{small};
  RuntimeConfig runtime = kSaved;
  runtime.resume_point_every = 0;
  KVCache cache = NewCache(small, runtime);
  MemoryStore store(kUnlimited);
  std::vector<size_t> sizes;
  ChunkKey key;
  for (size_t end = 64; end <= 192; end += 64) {
    REQUIRE(f.model.Forward(cache, std::span<const int32_t>(f.tokens).subspan(end - 64, 64), f.workspace));
    key = *SaveSnapshot(cache, {}, {}, store);
    sizes.push_back(store.List()->size());
    CHECK(*SaveSnapshot(cache, {}, {}, store) == key);
    CHECK(store.List()->size() == sizes.back());
  }
  CHECK(sizes[2] - sizes[1] == sizes[1] - sizes[0]);
  KVCache other = *cache.Fork();
  REQUIRE(f.model.Forward(other, std::span<const int32_t>(f.tokens).first(1), f.workspace));
  REQUIRE(SaveSnapshot(other, {}, {}, store));
  const size_t groups = cache.table().groups.size();
  CHECK(store.List()->size() <= sizes[2] + 1 + groups * (1 + kSaved.rewind_tokens));

  auto snapshot = LoadSnapshot(store, key, {}, NewPool(small, kLoaded));
  REQUIRE(snapshot);
  CHECK(SameBits(f.GoOn(std::move(snapshot->cache), 192), f.GoOn(std::move(cache), 192)));
}

TEST_CASE("edited conversations are saved as they are, edits pending or carried out") {
  Fixture f{SmallModelNamed("one-layer")};
  for (const bool carried_out : {false, true}) {
    CAPTURE(carried_out);
    KVCache cache = f.Talk();
    REQUIRE(cache.Erase(20, 71));
    REQUIRE(cache.Shift(30, 40, 90));
    if (carried_out) REQUIRE(f.model.Forward(cache, std::span<const int32_t>(f.tokens).first(1), f.workspace));
    auto snapshot = LoadSnapshot(SaveToBuffer(cache), {}, NewPool(SmallModelNamed("one-layer"), kLoaded));
    REQUIRE(snapshot);
    CHECK(snapshot->cache.exact_tokens() == 20);
    CHECK(SameBits(f.GoOn(std::move(snapshot->cache)), f.GoOn(std::move(cache))));
  }
}

TEST_CASE("what an edit left behind never passes for what its tokens would give") {
  Fixture f{SmallModelNamed("one-layer")};
  KVCache edited = f.Talk();
  REQUIRE(edited.Erase(0, 50));
  REQUIRE(f.model.Forward(edited, f.rest, f.workspace));
  KVCache fresh = NewCache(SmallModelNamed("one-layer"), kSaved);
  REQUIRE(f.model.Forward(fresh, edited.tokens(), f.workspace));
  MemoryStore store(kUnlimited);
  REQUIRE(SaveSnapshot(edited, {}, {}, store));
  const size_t before = store.List()->size();
  const ChunkKey key = *SaveSnapshot(fresh, {}, {}, store);
  CHECK(store.List()->size() == 2 * before);  // no chunk is common to both
  const std::vector<int32_t> probe = {5};
  auto loaded = LoadSnapshot(store, key, {}, NewPool(SmallModelNamed("one-layer"), kLoaded));
  REQUIRE(loaded);
  const auto copy = [](std::span<const float> values) { return std::vector<float>(values.begin(), values.end()); };
  const std::vector<float> expected = copy(*f.model.Forward(fresh, probe, f.workspace));
  CHECK(SameBits(copy(*f.model.Forward(loaded->cache, probe, f.workspace)), expected));
}

TEST_CASE("an empty conversation is a snapshot too") {
  const KVCache cache = NewCache(SmallModelNamed("hybrid"), kSaved);
  auto snapshot = LoadSnapshot(SaveToBuffer(cache), {}, NewPool(SmallModelNamed("hybrid"), kLoaded));
  REQUIRE(snapshot);
  CHECK(snapshot->cache.size() == 0);
}

TEST_CASE("notes come back as they were: sampler, last logits, the caller's bytes") {
  Fixture f{SmallModelNamed("all-features")};
  KVCache cache = f.Talk();
  SnapshotNotes notes;
  notes.sampler = SavedSampler{{.temperature = 0.5f,
                                .top_k = 7,
                                .penalty_window = 9,
                                .logit_bias = {{3, -1.5f}},
                                .random = {.seed = 11, .stream = 12},
                                .num_logprobs = 4},
                               {.recent_tokens = {5, 6}}};
  notes.logits = {1.0f, -2.0f};
  notes.user = {std::byte{7}, std::byte{0}};
  const auto snapshot = LoadSnapshot(SaveToBuffer(cache, notes), {}, NewPool(SmallModelNamed("all-features"), kLoaded));
  REQUIRE(snapshot);
  const SavedSampler& sampler = *snapshot->notes.sampler;
  CHECK(sampler.settings.temperature == 0.5f);
  CHECK(sampler.settings.top_k == 7);
  CHECK(sampler.settings.penalty_window == 9);
  CHECK(sampler.settings.logit_bias[0].bias == -1.5f);
  CHECK(sampler.settings.random == RandomStream{11, 12});
  CHECK(sampler.settings.num_logprobs == 4);
  CHECK(sampler.state.recent_tokens == notes.sampler->state.recent_tokens);
  CHECK(snapshot->notes.logits == notes.logits);
  CHECK(snapshot->notes.user == notes.user);
}

TEST_CASE("a fork is saved by one thread while another goes on generating") {
  Fixture f{SmallModelNamed("hybrid")};
  KVCache cache = f.Talk();
  const std::vector<float> expected = f.GoOn(*cache.Fork());
  const KVCache fork = *cache.Fork();
  MemoryStore store(kUnlimited);
  ChunkKey key;
  std::thread saver([&] { key = *SaveSnapshot(fork, {}, {}, store); });
  AllLogits(f.model, cache, f.rest, 1, f.workspace);
  saver.join();
  auto snapshot = LoadSnapshot(store, key, {}, NewPool(SmallModelNamed("hybrid"), kLoaded));
  REQUIRE(snapshot);
  CHECK(SameBits(f.GoOn(std::move(snapshot->cache)), expected));
}

TEST_CASE("where the pool has no room for resume points, the oldest are left out") {
  Fixture f{SmallModelNamed("small-mamba2")};
  RuntimeConfig saved = kSaved, small = kLoaded;
  saved.rewind_tokens = small.rewind_tokens = 0;
  const KVCache cache = f.Talk(saved);  // resume points at 48, 96, 144
  small.cache_bytes = 3 * cache.pool()->geometry(0).block_bytes();
  auto pool = NewPool(SmallModelNamed("small-mamba2"), small);
  const auto snapshot = LoadSnapshot(SaveToBuffer(cache), {}, pool);
  REQUIRE(snapshot);
  CHECK(*snapshot->cache.ResumePoints() == std::vector<ResumeRange>{{0, 0}, {96, 96}, {144, 144}, {170, 170}});
}

}  // namespace snapshot_test
}  // namespace skald::testing
