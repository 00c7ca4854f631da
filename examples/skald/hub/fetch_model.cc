// SPDX-License-Identifier: Apache-2.0

#include "hub/fetch_model.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "hub/storage/download.h"
#include "hub/storage/hub_cache.h"
#include "hub/transport/hub_client.h"
#include "hub/transport/transfer.h"
#include "hub/wanted_files.h"
#include "skald/base/files/shard_index.h"
#include "skald/base/text/message.h"

namespace skald::program {
namespace {

namespace fs = std::filesystem;

std::string Megabytes(uint64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

// The shards that an index lists.
Result<std::vector<std::string>> ShardsOf(const fs::path& snapshot) {
  SKALD_ASSIGN(const auto index, ReadShardIndex(snapshot / "model.safetensors.index.json"));
  std::vector<std::string> shards;
  for (const auto& [shard, tensors] : index) shards.push_back(shard);
  return shards;
}

fs::path PathOf(const WantedFiles& wanted, const fs::path& snapshot) {
  return wanted.gguf.empty() ? snapshot : snapshot / wanted.gguf;
}

// The model as the cache alone has it. `why` the hub is not asked.
Result<fs::path> FindInCache(const HubName& name, const HubCache& cache, const std::string& why) {
  const auto commit = cache.Commit();
  if (!commit) {
    return Fail(ErrorCode::kNotFound, Concat({name.repository, " is not in the cache ",
                                              cache.folder().parent_path().native(), ", and ", why}));
  }
  const std::vector<std::string> files = cache.FilesOf(*commit);
  const auto wanted = ChooseFiles(name, files);
  if (!wanted)
    return Fail(wanted.error().code, Concat({wanted.error().message, "; the cache alone is used, as ", why}));
  const fs::path snapshot = cache.Snapshot(*commit);
  std::vector<std::string> weights = wanted->weights;
  if (weights.empty()) {
    SKALD_ASSIGN(weights, ShardsOf(snapshot));
  }
  for (const std::string& file : weights) {
    if (std::ranges::find(files, file) != files.end()) continue;
    return Fail(ErrorCode::kNotFound, Concat({name.repository, ": the cache lacks ", file, ", and ", why}));
  }
  return PathOf(*wanted, snapshot);
}

// The files of one repository and commit on their way into the cache.
class Download {
 public:
  Download(HubClient& client, const HubCache& cache, std::string repository, std::string commit)
      : client_(client), cache_(cache), repository_(std::move(repository)), commit_(std::move(commit)) {}

  // Downloads files, after a check that the disk has room for all of them.
  Result<void> Fetch(const std::vector<std::string>& names) {
    std::vector<HubFile> files;
    uint64_t missing = 0;
    for (const std::string& name : names) {
      SKALD_ASSIGN(auto facts, client_.DescribeFile(repository_, commit_, name));
      missing += facts.size - BytesThere(cache_, facts);
      total_ += facts.size;
      files.push_back({name, std::move(facts)});
    }
    SKALD_TRY(CheckRoom(missing));
    for (const HubFile& file : files) {
      const auto on_bytes = [&](uint64_t bytes) { client_.events().progress(done_ + bytes, total_); };
      SKALD_TRY(DownloadFile(client_, cache_, repository_, commit_, file, on_bytes));
      done_ += file.facts.size;
    }
    return {};
  }

 private:
  Result<void> CheckRoom(uint64_t missing) const {
    std::error_code unknown;
    const uint64_t room = fs::space(cache_.folder(), unknown).available;
    if (unknown || missing <= room) return {};
    return Fail(ErrorCode::kResourceExhausted,
                Concat({repository_, ": ", Megabytes(missing), " are to be downloaded, but the disk of ",
                        cache_.folder().native(), " has room for ", Megabytes(room)}),
                {.needed_bytes = missing, .available_bytes = room});
  }

  HubClient& client_;
  const HubCache& cache_;
  std::string repository_, commit_;
  uint64_t done_ = 0, total_ = 0;
};

}  // namespace

Result<fs::path> FetchModel(const HubName& name, const HubSettings& settings, const HubEvents& events) {
  const HubCache cache(settings.cache, name.repository);
  if (settings.offline) return FindInCache(name, cache, "HF_HUB_OFFLINE says not to ask the hub");
  if (!Transfers::Exist()) return FindInCache(name, cache, "this build has no libcurl, which downloads need");

  HubClient client(settings, events);
  auto facts = client.Describe(name.repository);
  if (!facts) {
    if (facts.error().code != ErrorCode::kFailedPrecondition) return Failure(facts.error());
    const auto cached = FindInCache(name, cache, "the hub cannot be asked");
    if (!cached) return Failure(facts.error());
    events.notice(facts.error().message + "; the copy in the cache is used");
    return cached;
  }
  SKALD_ASSIGN(const auto wanted, ChooseFiles(name, facts->files));
  if (!wanted.gguf.empty() && name.quantisation.empty()) events.notice(name.repository + ": " + wanted.gguf);
  SKALD_TRY(cache.MakeFolders());
  const fs::path snapshot = cache.Snapshot(facts->commit);
  Download download(client, cache, name.repository, facts->commit);
  SKALD_TRY(download.Fetch(wanted.settings));
  std::vector<std::string> weights = wanted.weights;
  if (weights.empty()) {
    SKALD_ASSIGN(weights, ShardsOf(snapshot));
  }
  SKALD_TRY(download.Fetch(weights));
  SKALD_TRY(cache.SetMain(facts->commit));
  return PathOf(wanted, snapshot);
}

}  // namespace skald::program
