// SPDX-License-Identifier: Apache-2.0

#include "hub/storage/hub_cache.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "hub/hub_name.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/small_file.h"
#include "skald/base/text/message.h"

namespace skald::program {
namespace {

namespace fs = std::filesystem;

constexpr FileMode kOpenFolder = 0777, kOpenFile = 0666;  // less umask: other tools of the user's group may share it
constexpr std::string_view kPrefix = "models--";

std::string FolderName(std::string repository) {
  if (const size_t slash = repository.find('/'); slash != repository.npos) repository.replace(slash, 1, "--");
  return std::string(kPrefix) + repository;
}

bool IsCommit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

HubCache::HubCache(const fs::path& root, const std::string& repository)
    : folder_(root / FolderName(repository)), locks_(root / ".locks" / FolderName(repository)) {}

std::optional<std::string> HubCache::Commit() const {
  auto text = ReadSmallFile(folder_ / "refs" / "main", 1000);
  if (!text) return std::nullopt;
  text->erase(std::min(text->find_first_of(" \r\n"), text->size()));
  std::error_code ignored;
  return IsCommit(*text) && fs::is_directory(Snapshot(*text), ignored) ? std::optional(*text) : std::nullopt;
}

std::vector<std::string> HubCache::FilesOf(const std::string& commit) const {
  std::vector<std::string> names;
  std::error_code failed;
  const fs::path snapshot = Snapshot(commit);
  for (fs::recursive_directory_iterator entry(snapshot, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;  // a link to nothing is no file
    if (entry->is_regular_file(ignored)) names.push_back(entry->path().lexically_relative(snapshot));
  }
  std::ranges::sort(names);
  return names;
}

Result<void> HubCache::MakeFolders() const {
  for (const fs::path& folder : {folder_ / "blobs", folder_ / "refs", folder_ / "snapshots", locks_}) {
    SKALD_TRY(MakeFolder(folder, kOpenFolder, SyncPolicy::kNone));
  }
  return {};
}

Result<void> HubCache::Link(const std::string& commit, const std::string& file, const std::string& etag) const {
  const fs::path link = Snapshot(commit) / file;
  SKALD_TRY(MakeFolder(link.parent_path(), kOpenFolder, SyncPolicy::kNone));
  const fs::path target = Blob(etag).lexically_relative(link.parent_path());
  std::error_code failed;
  if (fs::read_symlink(link, failed) == target) return {};
  // A link that has its name from the start would not replace one of another download.
  const fs::path fresh = link.native() + internal::UniqueSuffix();
  fs::create_symlink(target, fresh, failed);
  if (!failed) {
    fs::rename(fresh, link, failed);
    std::error_code ignored;
    if (failed) fs::remove(fresh, ignored);
  }
  if (failed) return internal::SystemFailure(link.native(), failed.value());
  return {};
}

Result<void> HubCache::SetMain(const std::string& commit) const {
  SKALD_ASSIGN(auto sink, FileSink::CreateAnew(folder_ / "refs" / "main", kOpenFile));
  SKALD_TRY(sink.Write(std::as_bytes(std::span(commit))));
  return sink.Commit(SyncPolicy::kData);
}

std::vector<CachedModel> CachedModels(const fs::path& root) {
  std::vector<CachedModel> models;
  std::error_code failed;
  for (fs::directory_iterator entry(root, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::string repository = entry->path().filename();
    if (!repository.starts_with(kPrefix)) continue;
    repository.erase(0, kPrefix.size());
    if (const size_t dashes = repository.find("--"); dashes != repository.npos) repository.replace(dashes, 2, "/");
    if (!ParseHubName(repository)) continue;
    const HubCache cache(root, repository);
    const auto commit = cache.Commit();
    if (!commit) continue;
    CachedModel model = {repository, *commit, cache.Snapshot(*commit)};
    for (const std::string& file : cache.FilesOf(*commit)) {
      std::error_code ignored;
      const uint64_t bytes = fs::file_size(model.snapshot / file, ignored);
      model.bytes += ignored ? 0 : bytes;
    }
    models.push_back(std::move(model));
  }
  std::ranges::sort(models, {}, &CachedModel::repository);
  return models;
}

}  // namespace skald::program
