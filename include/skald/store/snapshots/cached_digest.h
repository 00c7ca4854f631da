// SPDX-License-Identifier: Apache-2.0
//
// The digest of a model's weights, computed once: it is kept in a small text file beside the weights, together with
// facts that show that they are still the same files.

#ifndef SKALD_STORE_SNAPSHOTS_CACHED_DIGEST_H_
#define SKALD_STORE_SNAPSHOTS_CACHED_DIGEST_H_

#include <filesystem>
#include <string>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"

namespace skald {

namespace internal {

/// Where the digest of the weights at `path` is kept: in their folder, or beside a single file.
std::filesystem::path DigestCacheOf(const std::filesystem::path& path);

/// The text before the digest in that file: a version, and for each file of the model its size in bytes, the times of
/// its modification and of its last status change in seconds and nanoseconds, its inode number, and its name. The last
/// two show that a file was replaced, even if its modification time was set back.
Result<std::string> DescribeWeights(const std::filesystem::path& path);

}  // namespace internal

/// Returns DigestOfWeights(path). Reads it from `.skald-digest` in the folder or `<file>.skald-digest` beside the file,
/// if this user or root wrote that for these very files as they are now; otherwise computes and writes it. A read-only
/// folder is not an error. Safe for concurrent calls, also of several processes. Errors: those of DigestOfWeights.
Result<Sha256Digest> CachedDigestOfWeights(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/cached_digest.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_CACHED_DIGEST_H_
