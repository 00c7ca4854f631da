// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/fd_io.h.

#ifndef SKALD_BASE_FILES_DETAIL_FD_IO_H_
#define SKALD_BASE_FILES_DETAIL_FD_IO_H_

#include "skald/base/files/fd_io.h"

#include <cerrno>
#include <optional>
#include <system_error>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<void> WriteAll(int fd, std::string_view name, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t written = WriteSome(fd, bytes);
    if (written < 0) return SystemFailure(name);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

SKALD_INLINE Result<void> ReadAll(int fd, std::string_view name, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t count = ReadSome(fd, bytes);
    if (count < 0) return SystemFailure(name);
    if (count == 0) {
      return NoThrow(name, [&]() -> Result<void> {
        return Fail(ErrorCode::kDataLoss,
                    std::string(name) + ": it ends, but " + std::to_string(bytes.size()) + " more bytes are expected");
      });
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace internal

SKALD_INLINE Result<FileSource> FileSource::Open(const std::filesystem::path& path) {
  const auto& name = PathText(path);
  return NoThrow(name, [&]() -> Result<FileSource> {
    internal::Descriptor file = internal::OpenToRead(path);
    const auto facts = file.get() < 0 ? std::nullopt : internal::FactsOf(file.get());
    if (!facts) return internal::SystemFailure(name);
    SKALD_TRY(internal::CheckRegular(facts->kind, name));
    return FileSource(std::move(file), name);
  });
}

namespace internal {

// Returns the path that writing to `path` leads to: the file that a link, or a chain of links, names. The file need not
// exist.
inline Result<std::filesystem::path> FollowLinks(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // the system's own limit
  std::filesystem::path target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return target;  // not a link
    if (!MayFollow(target)) return SystemFailure(PathText(target), EACCES);
    target = target.parent_path() / next;
  }
  return SystemFailure(PathText(path), ELOOP);
}

// Reads the facts of the file at `path`; empty if there is no file. Refuses everything that is not a regular file,
// because only a regular file may be replaced.
inline Result<std::optional<FileFacts>> FileToReplace(const std::filesystem::path& path, bool may_be_link) {
  const auto facts = FactsOfEntry(path);
  if (!facts) {
    if (errno == ENOENT) return std::nullopt;
    return SystemFailure(PathText(path));
  }
  if (may_be_link && facts->kind == FileKind::kLink) return facts;
  SKALD_TRY(CheckRegular(facts->kind, PathText(path)));
  return facts;
}

}  // namespace internal

SKALD_INLINE Result<FileSink> FileSink::Create(const std::filesystem::path& path, FileMode mode) {
  return NoThrow(PathText(path), [&]() -> Result<FileSink> {
    SKALD_ASSIGN(auto target, internal::FollowLinks(path));
    SKALD_ASSIGN(const auto replaced, internal::FileToReplace(target, /*may_be_link=*/false));
    auto sink = Begin(std::move(target), replaced ? kPrivateFile : mode);
    if (sink && replaced && !internal::CopyAccess(*replaced, sink->file_.get())) {
      return internal::SystemFailure(PathText(path));
    }
    return sink;
  });
}

SKALD_INLINE Result<FileSink> FileSink::CreateAnew(const std::filesystem::path& path, FileMode mode,
                                                   Unfinished unfinished) {
  return NoThrow(PathText(path), [&]() -> Result<FileSink> {
    if (auto replaced = internal::FileToReplace(path, /*may_be_link=*/true); !replaced) {
      return Failure(replaced.error());
    }
    return unfinished == Unfinished::kNameless ? Begin(path, mode) : BeginNamed(path, mode);
  });
}

SKALD_INLINE FileSink::~FileSink() {
  if (!temporary_.empty()) (void)internal::RemoveName(temporary_);
}

SKALD_INLINE Result<void> FileSink::Write(std::span<const std::byte> bytes) {
  return internal::WriteAll(file_.get(), PathText(path_), bytes);
}

SKALD_INLINE Result<void> FileSink::Commit(SyncPolicy sync, Cached cached) {
  return NoThrow(PathText(path_), [&]() -> Result<void> {
    const auto refused = [this] { return internal::SystemFailure(PathText(path_)); };
    if (sync != SyncPolicy::kNone && !internal::Sync(file_.get())) return refused();
    if (cached == Cached::kNothing) internal::HintLetGo(file_.get());
    if (temporary_.empty() && !GiveName()) return refused();
    if (file_.Close() != 0) return refused();
    if (!internal::Rename(temporary_, path_)) return refused();
    temporary_.clear();
    return sync == SyncPolicy::kDataAndFolder ? internal::SyncFolder(path_.parent_path()) : Result<void>();
  });
}

SKALD_INLINE Result<FileSink> FileSink::Begin(std::filesystem::path path, FileMode mode) {
  internal::Descriptor nameless = internal::MakeNameless(path.parent_path(), mode);
  return nameless.get() >= 0 ? FileSink(std::move(nameless), std::move(path), {}) : BeginNamed(std::move(path), mode);
}

SKALD_INLINE Result<FileSink> FileSink::BeginNamed(std::filesystem::path path, FileMode mode) {
  for (int attempt = 0;; ++attempt) {
    std::filesystem::path temporary = path;
    temporary += internal::UniqueSuffix();
    internal::Descriptor file = internal::MakeNew(temporary, mode);
    if (file.get() >= 0) return FileSink(std::move(file), std::move(path), std::move(temporary));
    if (errno != EEXIST || attempt == kMaxAttempts) return internal::SystemFailure(PathText(path));
  }
}

SKALD_INLINE bool FileSink::GiveName() {
  for (int attempt = 0;; ++attempt) {
    std::filesystem::path temporary = path_;
    temporary += internal::UniqueSuffix();
    if (internal::GiveName(file_.get(), temporary)) {
      temporary_ = std::move(temporary);
      return true;
    }
    if (errno != EEXIST || attempt == kMaxAttempts) return false;
  }
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_FD_IO_H_
