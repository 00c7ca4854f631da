// SPDX-License-Identifier: Apache-2.0
//
// A snapshot that the second release wrote still loads, and goes on with the bits that its tokens give today; one of
// the first is refused with a sentence that says why. When the format gets another version, a file of that joins these;
// none is ever replaced.

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/fd_io.h"
#include "skald/families/llama/llama.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/check_error.h"
#include "tests/support/small_configs.h"
#include "tests/support/targets.h"

namespace skald::testing {
namespace old_snapshot_test {

// Never to be changed: the files' layout and state are its.
struct Released : LlamaFamily {
  static constexpr std::string_view kName = "first-release";
  static constexpr int kModelDim = 32, kFeedForwardDim = 40, kVocabSize = 60;
  static constexpr int kHeads = 2, kKVHeads = 1, kHeadDim = 16;
  static constexpr auto kLayers =
      RepeatLayers<3>({LayerKind::kRgLru, LayerKind::kSlidingAttention, LayerKind::kFullAttention});
  static constexpr int kWindow = 20;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr int kConvWidth = 4, kLruWidth = 24, kLruBlocks = 2;
  static constexpr bool kTiedEmbeddings = true;
};

const SmallModel& ReleasedModel() {
  static const SmallModel model = SmallModelOf<Released>();
  return model;
}

constexpr RuntimeConfig kRuntime = {.block_tokens = 32, .resume_point_every = 20};
constexpr uint32_t kTokens = 45;

std::filesystem::path File(const std::string& release) {
  return std::filesystem::path(SKALD_REPOSITORY) / "tests/store/data" / (release + "_release.snapshot");
}

Identity FileIdentity() {
  Identity identity;
  identity.weights[0] = identity.tokenizer[31] = std::byte{1};
  identity.salt = "first release";
  return identity;
}

// Conversation and logits of its last token.
KVCache Talk(const RandomModel& model, uint32_t tokens, std::vector<float>& logits) {
  KVCache cache = NewCache(ReleasedModel(), kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const std::vector<int32_t> all = RandomTokens(ReleasedModel(), 5, kTokens);
  const auto last = model.Forward(cache, std::span(all).first(tokens), workspace);
  REQUIRE(last);
  logits.assign(last->begin(), last->end());
  return cache;
}

TEST_CASE("writes the file of the second release" * doctest::skip()) {
  const RandomModel model(ReleasedModel(), 1);
  SnapshotNotes notes;
  const KVCache cache = Talk(model, kTokens, notes.logits);
  notes.sampler = SavedSampler{{.temperature = 0.75f, .top_k = 8, .logit_bias = {{3, -1.0f}}, .random = {.seed = 7}},
                               {.recent_tokens = {1, 2, 3}}};
  notes.user = {std::byte{'h'}, std::byte{'i'}};
  auto sink = FileSink::Create(File("second"), 0644);
  REQUIRE(sink);
  REQUIRE(SaveSnapshot(cache, FileIdentity(), notes, ByteSinkRef(*sink)));
  REQUIRE(sink->Commit());
}

TEST_CASE("the first release's snapshot does not say all that it was computed with, and is refused") {
  auto source = FileSource::Open(File("first"));
  REQUIRE(source);
  const auto pool = NewPool(ReleasedModel(), kRuntime);
  CheckError(LoadSnapshot(ByteSourceRef(*source), FileIdentity(), pool), ErrorCode::kUnsupported,
             "the snapshot is of an earlier release, which did not write down all facts of the model");
}

TEST_CASE("the second release's snapshot loads and goes on") {
  auto source = FileSource::Open(File("second"));
  REQUIRE(source);
  auto snapshot = LoadSnapshot(ByteSourceRef(*source), FileIdentity(), NewPool(ReleasedModel(), kRuntime));
  if (!snapshot) FAIL(snapshot.error().message);
  KVCache& cache = snapshot->cache;
  CHECK(std::ranges::equal(cache.tokens(), RandomTokens(ReleasedModel(), 5, kTokens)));
  CHECK(cache.exact_tokens() == kTokens);
  CHECK(*cache.ResumePoints() == std::vector<ResumeRange>{{0, 0}, {20, 20}, {40, 40}, {45, 45}});
  REQUIRE(snapshot->notes.sampler);
  CHECK(snapshot->notes.sampler->settings.temperature == 0.75f);
  CHECK(snapshot->notes.sampler->settings.top_k == 8);
  CHECK(snapshot->notes.sampler->settings.logit_bias[0].token == 3);
  CHECK(snapshot->notes.sampler->settings.random.seed == 7);
  CHECK(snapshot->notes.sampler->state.recent_tokens == std::vector<int32_t>{1, 2, 3});
  CHECK(snapshot->notes.user == std::vector<std::byte>{std::byte{'h'}, std::byte{'i'}});

  if (!TargetHasFma()) return;
  const RandomModel model(ReleasedModel(), 1);
  std::vector<float> logits;
  KVCache recomputed = Talk(model, kTokens, logits);
  CHECK(snapshot->notes.logits == logits);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const std::vector<int32_t> more = RandomTokens(ReleasedModel(), 6, 30);
  CHECK(AllLogits(model, cache, more, 30, workspace) == AllLogits(model, recomputed, more, 30, workspace));
  REQUIRE(cache.Truncate(20));
  KVCache shorter = Talk(model, 20, logits);
  CHECK(AllLogits(model, cache, more, 30, workspace) == AllLogits(model, shorter, more, 30, workspace));
}

}  // namespace old_snapshot_test
}  // namespace skald::testing
