// SPDX-License-Identifier: Apache-2.0
//
// The digest of a resume point, computed once: it is kept in a small text file beside the weights, together with what
// shows that they are still the same files.

#ifndef SKALD_STORE_SNAPSHOTS_CACHED_DIGEST_H_
#define SKALD_STORE_SNAPSHOTS_CACHED_DIGEST_H_

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"

namespace skald {

namespace internal {

/// Where the digest of the resume point at `path` is kept: in its folder, or beside a single file.
std::filesystem::path DigestCacheOf(const std::filesystem::path& path);

/// What the cache says before the digest: a version, and of each file of the model its size in bytes, the times of its
/// modification and of its last change of any kind in seconds and nanoseconds, its number in the file system, and its
/// name. The last two show that a file was replaced, whatever time of modification it was given.
Result<std::string> DescribeWeights(const std::filesystem::path& path);

}  // namespace internal

/// Returns DigestOfWeights(path), from `.skald-digest` in the folder or `<file>.skald-digest` beside the file if that
/// was written, by us or root, for these very files as they are now; otherwise computes and writes it. A folder that
/// cannot be written to is no error. Safe for concurrent calls, also of several processes. Errors: those of
/// DigestOfWeights.
Result<Sha256Digest> CachedDigestOfWeights(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/cached_digest.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_CACHED_DIGEST_H_
