// SPDX-License-Identifier: Apache-2.0
//
// The cache of Hugging Face's own tools, so that they find what Skald downloads and Skald what they did:
//
//   models--ORG--REPO/refs/main                  the commit that `main` was when it was last asked for
//   models--ORG--REPO/snapshots/COMMIT/FILE      relative links to the blobs
//   models--ORG--REPO/blobs/ETAG                 the content; ETAG.incomplete while it is received
//   .locks/models--ORG--REPO/ETAG.lock           held (flock) while it is received

#ifndef SKALD_EXAMPLES_SKALD_HUB_STORAGE_HUB_CACHE_H_
#define SKALD_EXAMPLES_SKALD_HUB_STORAGE_HUB_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald::program {

// The part of the cache that belongs to one repository. Touches no file until it is asked to.
class HubCache {
 public:
  // `root` is the whole cache; `repository` a name that ParseHubName accepts.
  HubCache(const std::filesystem::path& root, const std::string& repository);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path Blob(std::string_view etag) const { return folder_ / "blobs" / etag; }
  std::filesystem::path Lock(const std::string& etag) const { return locks_ / (etag + ".lock"); }
  std::filesystem::path Snapshot(std::string_view commit) const { return folder_ / "snapshots" / commit; }

  // The commit of `main`, if it is known and its snapshot is there.
  std::optional<std::string> Commit() const;

  // Names of all files of a commit that are there, relative to its snapshot.
  std::vector<std::string> FilesOf(const std::string& commit) const;

  // Makes the folders that a download writes to. Errors: those of MakeFolder.
  Result<void> MakeFolders() const;

  // Puts a file of a commit in place, whose content is there. Error: the system's, kResourceExhausted if the disk is
  // full.
  Result<void> Link(const std::string& commit, const std::string& file, const std::string& etag) const;

  // Says that `main` is this commit, whose files are there. Errors as of Link.
  Result<void> SetMain(const std::string& commit) const;

 private:
  std::filesystem::path folder_, locks_;
};

struct CachedModel {
  std::string repository, commit;
  std::filesystem::path snapshot;
  uint64_t bytes = 0;  // of the files of this commit
};

// The repositories in a cache with a commit that is there, by name.
std::vector<CachedModel> CachedModels(const std::filesystem::path& root);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_STORAGE_HUB_CACHE_H_
