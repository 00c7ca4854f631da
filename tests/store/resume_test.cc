// SPDX-License-Identifier: Apache-2.0
//
// Conversations that are taken up elsewhere: on another SIMD target, in another process, in the middle of sampling.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "hwy/targets.h"
#include "skald/base/files/fd_io.h"
#include "skald/sampling/sampler.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/small_models.h"
#include "tests/support/targets.h"

namespace skald::testing {
namespace resume_test {

constexpr RuntimeConfig kSaved = {.block_tokens = 64, .resume_point_every = 48};
constexpr RuntimeConfig kLoaded = {.block_tokens = 32};
constexpr size_t kTokens = 110, kSavedTokens = 90;

std::vector<std::byte> SaveToBuffer(const KVCache& cache, const SnapshotNotes& notes = {}) {
  std::vector<std::byte> buffer(*SnapshotBytes(cache, {}, notes));
  REQUIRE(SaveSnapshot(cache, {}, notes, std::span(buffer)));
  return buffer;
}

// A conversation of kSavedTokens tokens, and the logits of those that follow.
struct Fixture {
  const SmallModel& small;
  RandomModel model{small, 4};
  std::vector<int32_t> tokens = RandomTokens(small, 8, kTokens);

  KVCache Talk() const {
    KVCache cache = NewCache(small, kSaved);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    REQUIRE(model.Forward(cache, std::span<const int32_t>(tokens).first(kSavedTokens), workspace));
    return cache;
  }
  std::vector<float> GoOn(KVCache& cache) const {
    Workspace workspace = *CreateWorkspace({.threads = 2});
    return AllLogits(model, cache, std::span<const int32_t>(tokens).subspan(kSavedTokens), 9, workspace,
                     {.pass_tokens = 7});
  }
  std::vector<float> Resume(ByteSourceRef source) const {
    auto snapshot = LoadSnapshot(source, {}, NewPool(small, kLoaded));
    REQUIRE(snapshot);
    return GoOn(snapshot->cache);
  }
};

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

SKALD_LAW("saved on one SIMD target and resumed on another, every pair gives the same bits", small) {
  const Fixture fixture{small};
  const std::vector<int64_t> targets = FmaTargets();
  MESSAGE(targets.size() << " targets with FMA");
  std::vector<std::vector<std::byte>> saved;
  std::vector<float> expected;
  for (const int64_t target : targets) {
    const ScopedTarget scoped(target);
    KVCache cache = fixture.Talk();
    saved.push_back(SaveToBuffer(cache));
    CHECK(saved.back() == saved.front());
    if (expected.empty()) expected = fixture.GoOn(cache);
  }
  for (const int64_t target : targets) {
    const ScopedTarget scoped(target);
    for (size_t from = 0; from < targets.size(); ++from) {
      CAPTURE(hwy::TargetName(targets[from]));
      CAPTURE(hwy::TargetName(target));
      BufferSource source(saved[from]);
      CHECK(SameBits(fixture.Resume(source), expected));
    }
  }
}

// --- Other processes: this program again, running one of the test cases that are skipped otherwise -----------------

constexpr const char* kFolderVariable = "SKALD_TEST_RESUME_FOLDER";

std::filesystem::path Folder() {
  const char* const folder = std::getenv(kFolderVariable);
  return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

// Runs a test case of this program in a process of its own, on one SIMD target. Returns its exit status.
int RunTestCase(const std::string& name, int64_t target) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string filter = "--test-case=" + name, on = std::string("--target=") + hwy::TargetName(target);
  std::string no_skip = "--no-skip", quiet = "--out=/dev/null";
  char* const arguments[] = {program.data(), filter.data(), no_skip.data(), on.data(), quiet.data(), nullptr};
  pid_t child;
  if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) return -1;
  int status = -1;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

const SmallModel& InOtherProcesses() { return SmallModelNamed("hybrid"); }

TEST_CASE("other process saves" * doctest::skip()) {
  const Fixture fixture{InOtherProcesses()};
  const KVCache cache = fixture.Talk();
  auto sink = FileSink::Create(Folder() / hwy::TargetName(TargetInUse()));
  REQUIRE(sink);
  REQUIRE(SaveSnapshot(cache, {}, {}, ByteSinkRef(*sink)));
  REQUIRE(sink->Commit());
}

TEST_CASE("other process resumes" * doctest::skip()) {
  const Fixture fixture{InOtherProcesses()};
  std::optional<std::vector<float>> first;
  for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
    if (entry.path().extension() == ".logits") continue;
    auto source = FileSource::Open(entry.path());
    REQUIRE(source);
    const std::vector<float> logits = fixture.Resume(*source);
    if (!first) first = logits;
    CHECK(SameBits(logits, *first));
  }
  REQUIRE(first);
  auto sink = FileSink::Create(Folder() / (std::string(hwy::TargetName(TargetInUse())) + ".logits"));
  REQUIRE(sink);
  REQUIRE(sink->Write(std::as_bytes(std::span(*first))));
  REQUIRE(sink->Commit());
}

TEST_CASE("saved by one process and resumed by others, on every SIMD target") {
  const std::vector<int64_t> targets = FmaTargets();
  if (targets.empty()) return;
  const Fixture fixture{InOtherProcesses()};
  KVCache cache = fixture.Talk();
  const std::vector<float> expected = fixture.GoOn(cache);
  const TemporaryFolder folder;
  REQUIRE(::setenv(kFolderVariable, folder.path().c_str(), 1) == 0);
  for (const int64_t target : targets) CHECK(RunTestCase("other process saves", target) == 0);
  for (const int64_t target : targets) {
    CAPTURE(hwy::TargetName(target));
    CHECK(RunTestCase("other process resumes", target) == 0);
    auto source = FileSource::Open(folder.path() / (std::string(hwy::TargetName(target)) + ".logits"));
    REQUIRE(source);
    std::vector<float> logits(expected.size());
    REQUIRE(source->Read(std::as_writable_bytes(std::span(logits))));
    CHECK(SameBits(logits, expected));
  }
  ::unsetenv(kFolderVariable);
}

// --- In the middle of sampling --------------------------------------------------------------------------------------

// A conversation between two samples: its cache, the logits of its last token, and its sampler.
struct Talker {
  KVCache cache;
  std::vector<float> logits;
  SavedSampler sampler;
};

std::vector<int32_t> SampleTokens(const RandomModel& model, Talker& talker, size_t count, uint32_t threads) {
  Workspace workspace = *CreateWorkspace({.threads = threads});
  std::vector<int32_t> sampled;
  for (size_t i = 0; i < count; ++i) {
    const auto token = Sample(talker.logits, talker.sampler.settings, talker.sampler.state, talker.cache.size());
    REQUIRE(token);
    sampled.push_back(token->id);
    ObserveToken(talker.sampler.settings, token->id, talker.sampler.state);
    const auto logits = model.Forward(talker.cache, {&token->id, 1}, workspace);
    REQUIRE(logits);
    talker.logits.assign(logits->begin(), logits->end());
  }
  return sampled;
}

SKALD_LAW("saved in the middle of sampling, the same tokens follow and none is computed again", small) {
  const Fixture fixture{small};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  Talker talker{NewCache(small, kSaved), {}, {}};
  talker.sampler.settings = {.temperature = 1.3f,
                             .top_k = 40,
                             .top_p = 0.95f,
                             .penalty_window = 12,
                             .repetition_penalty = 1.2f,
                             .logit_bias = {{5, 1.5f}},
                             .random = {.seed = 6, .stream = 2}};
  const auto logits = fixture.model.Forward(talker.cache, fixture.tokens, workspace);
  REQUIRE(logits);
  talker.logits.assign(logits->begin(), logits->end());

  SampleTokens(fixture.model, talker, 15, 1);
  const std::vector<std::byte> bytes = SaveToBuffer(talker.cache, {.sampler = talker.sampler, .logits = talker.logits});
  const std::vector<int32_t> expected = SampleTokens(fixture.model, talker, 15, 1);

  auto snapshot = LoadSnapshot(bytes, {}, NewPool(small, kLoaded));
  REQUIRE(snapshot);
  REQUIRE(snapshot->notes.sampler);
  CHECK(snapshot->cache.size() == kTokens + 15);
  Talker resumed{std::move(snapshot->cache), std::move(snapshot->notes.logits), std::move(*snapshot->notes.sampler)};
  CHECK(SampleTokens(fixture.model, resumed, 15, 2) == expected);
}

}  // namespace resume_test
}  // namespace skald::testing
