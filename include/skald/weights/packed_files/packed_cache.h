// SPDX-License-Identifier: Apache-2.0
//
// A folder of packed files, one for each checkpoint and element type: written by the first load, mapped by later ones,
// and written again after the checkpoint has changed. Users may share a folder, but a process only uses files that its
// own user or root has written, because file names can be guessed.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_CACHE_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_CACHE_H_

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "skald/base/files/folders.h"
#include "skald/base/files/path_text.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/load_options.h"
#include "skald/weights/packed_files/packed_check.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packed_files/packed_limit.h"
#include "skald/weights/packed_files/packed_source.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "skald/weights/parameters.h"

namespace skald {

/// Returns the path in `folder` for the checkpoint at `source`, loaded as `dtype`:
/// `<name>-<hash of its path>-<type>.packed`. Error: kFailedPrecondition for a path that the system cannot resolve: it
/// would not be found again under another spelling.
inline Result<std::filesystem::path> PackedCachePath(const std::filesystem::path& folder,
                                                     const std::filesystem::path& source, DType dtype) {
  std::error_code error;
  auto path = std::filesystem::weakly_canonical(source, error);
  if (error) return Fail(ErrorCode::kFailedPrecondition, Concat({PathText(source), ": ", error.message()}));
  if (!path.has_filename()) path = path.parent_path();
  std::array<char, 16> digits;
  const auto hash = Xxh64(std::as_bytes(std::span(std::string_view(PathText(path)))));
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return folder / PathOfText(Concat({PathText(path.filename()), "-", std::string_view(digits.data(), end), "-",
                                     NameOf(dtype), internal::kPackedSuffix}));
}

/// The checkpoint that LoadThroughCache loads.
struct CachedCheckpoint {
  const std::filesystem::path& path;  ///< a folder or a file
  std::string_view name;              ///< of the model, for people
  uint64_t model;                     ///< Fingerprint of its ModelSpec
  std::string source;                 ///< what DescribeSource says of the files that `load` reads
};

namespace internal {

/// How LoadOptions want packed files to be opened. A rank that does not keep the file mapped copies its part from a
/// mapping.
inline MappedFile::Use UseOfPacked(const LoadOptions& options) {
  if (options.share.ranks > 1) return MappedFile::Use::kParts;
  return options.map ? MappedFile::Use::kKeep : MappedFile::Use::kCopy;
}

/// Fills the weights of `list` from `file` and compares the file with its checksums as `options` say. Errors: those of
/// MapParameters and CheckPackedWeights.
inline Result<void> TakeWeights(const std::shared_ptr<const PackedFile>& file, const ParameterList& list,
                                uint64_t model, const LoadOptions& options) {
  const bool is_part = options.share.ranks > 1;
  SKALD_TRY(MapParameters(file, list, model, /*in_place=*/options.map || !is_part));
  SKALD_TRY(CheckPackedWeights(*file, options));
  if (is_part) file->LetGo();
  return {};
}

/// Fills the weights of `list` from the packed file at `path`. Errors: kFailedPrecondition for a file that other users
/// can write to, and could have forged; kNotFound for one of another `source`; and those of reading it.
inline Result<void> ReadCached(const std::filesystem::path& path, const ParameterList& list, uint64_t model,
                               std::string_view source, const LoadOptions& options) {
  SKALD_ASSIGN(const auto file, PackedFile::Open(path, UseOfPacked(options)));
  if (!file->is_trusted()) {
    return Fail(ErrorCode::kFailedPrecondition,
                Concat({PathText(path), ": expected a file that only you and root can write to"}));
  }
  if (file->table().source != source || file->table().dtype != options.dtype) {
    return Fail(ErrorCode::kNotFound, Concat({PathText(path), ": packed from other files"}));
  }
  SKALD_TRY(TakeWeights(file, list, model, options));
  NoteUse(path);
  return {};
}

/// Refuses a checkpoint that was written to while it was loaded: it is unknown which of its bytes were loaded.
inline Result<void> CheckUnchanged(const std::filesystem::path& path, std::string_view source) {
  SKALD_ASSIGN(const auto now, DescribeSource(path));
  if (now == source) return {};
  return Fail(ErrorCode::kFailedPrecondition, Concat({PathText(path), ": it changed while it was loaded"}));
}

/// Writes a packed file that ReadCached takes, recorded as whole: the bytes are those that were just written.
inline Result<void> WriteCached(const std::filesystem::path& path, const ParameterList& list,
                                const PackedOrigin& origin, uint64_t limit) {
  const std::filesystem::path folder = path.parent_path();
  SKALD_TRY(MakeFolder(folder, 0777));  // less umask: weights are not secret
  // As large as weights: leftovers of killed writers must be removed.
  (void)RemoveUnfinishedFiles(folder, [](std::string_view name) {
    if (name.ends_with(kRecordSuffix)) name.remove_suffix(kRecordSuffix.size());
    return name.ends_with(kPackedSuffix);
  });
  SKALD_TRY(MakeRoom(path, MemoryBytes(list), limit));
  SKALD_TRY(WritePackedFile(path, list, origin));
  if (const auto file = PackedFile::Open(path)) Remember(**file);
  return {};
}

}  // namespace internal

/// Fills the weights of `list` with those of a checkpoint, mapped from its packed file in LoadOptions::cache_folder. If
/// there is none, or it is of another model or version, damaged, writable by other users, or older than the checkpoint,
/// calls `load`, which fills them, and writes the file. If writing fails the weights stay in memory, and
/// LoadOptions::on_warning gets the reason. A rank, which has no whole weights, takes its part of a file that another
/// process has written, and writes nothing. Safe for concurrent calls, also of several processes. Errors: those of
/// `load`, and a checkpoint whose files cannot be read.
inline Result<void> LoadThroughCache(const CachedCheckpoint& checkpoint, const ParameterList& list,
                                     const LoadOptions& options, const std::function<Result<void>()>& load) {
  return NoThrow(PathText(checkpoint.path), [&]() -> Result<void> {
    const std::string& source = checkpoint.source;
    const auto cached = PackedCachePath(options.cache_folder, checkpoint.path, options.dtype);
    const auto read = [&]() -> Result<void> {
      if (!cached) return Failure(cached.error());
      return internal::ReadCached(*cached, list, checkpoint.model, source, options);
    };
    if (read()) return {};
    SKALD_TRY(load());
    if (options.share.ranks > 1) return {};
    const PackedOrigin origin = {checkpoint.name, checkpoint.model, options.dtype, source};
    Result<void> kept = cached ? internal::CheckUnchanged(checkpoint.path, source) : Failure(cached.error());
    if (kept) kept = internal::WriteCached(*cached, list, origin, options.cache_bytes);
    if (kept) kept = read();
    if (!kept && options.on_warning) {
      options.on_warning({kept.error().code, Concat({"the packed weights are not kept: ", kept.error().message})});
    }
    return {};
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_CACHE_H_
