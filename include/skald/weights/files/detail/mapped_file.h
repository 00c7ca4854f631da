// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/mapped_file.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_MAPPED_FILE_H_
#define SKALD_WEIGHTS_FILES_DETAIL_MAPPED_FILE_H_

#include "skald/weights/files/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/file_memory.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {

SKALD_INLINE Result<MappedFile> MappedFile::Open(const std::filesystem::path& path, Use use) {
  return NoThrow(PathText(path), [&] { return OpenRegular(path, use); });
}

SKALD_INLINE MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      facts_(other.facts_),
      is_trusted_(other.is_trusted_),
      is_copy_(other.is_copy_) {}

SKALD_INLINE MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(facts_, other.facts_);
  std::swap(is_trusted_, other.is_trusted_);
  std::swap(is_copy_, other.is_copy_);
  return *this;
}

SKALD_INLINE MappedFile::~MappedFile() {
  if (data_ != nullptr) is_copy_ ? internal::ReturnPages(data_, size_) : internal::UnmapFile(data_, size_);
}

SKALD_INLINE void MappedFile::WillRead(std::span<const std::byte> part) const {
  internal::HintWillRead(part.data(), part.size());
}

SKALD_INLINE void MappedFile::WillReadOnce() const { internal::HintReadOnce(data_, size_); }

SKALD_INLINE void MappedFile::LetGo() const {
  if (!is_copy_) internal::HintLetGo(data_, size_);
}

namespace internal {

// The error of the last system call about a file to map.
inline Failure MapFailure(const std::filesystem::path& path, const char* what) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT || reason == ENOTDIR ? ErrorCode::kNotFound
                         : reason == ENOMEM                    ? ErrorCode::kResourceExhausted
                                                               : ErrorCode::kFailedPrecondition;
  return Fail(code, Concat({PathText(path), ": ", what, ": ", std::generic_category().message(reason)}));
}

}  // namespace internal

SKALD_INLINE Result<MappedFile> MappedFile::OpenRegular(const std::filesystem::path& path, Use use) {
  const internal::Descriptor file = internal::OpenToRead(path);
  if (file.get() < 0) return internal::MapFailure(path, "cannot open");
  const auto facts = internal::FactsOf(file.get());
  if (!facts) return internal::MapFailure(path, "cannot read the size of the file");
  if (facts->kind != FileKind::kRegular) {
    return Fail(ErrorCode::kInvalidArgument, Concat({PathText(path), ": expected a regular file"}));
  }
  const bool is_trusted = internal::IsTrustedFile(file.get());
  const bool copy = use == Use::kCopy;
  if (facts->bytes == 0) return MappedFile(nullptr, 0, *facts, is_trusted, copy);  // systems map no empty range
  if (facts->bytes > std::numeric_limits<size_t>::max()) {
    return Fail(ErrorCode::kUnsupported, Concat({PathText(path), ": larger than this machine's address space"}));
  }
  const auto size = static_cast<size_t>(facts->bytes);
  void* const data = copy ? internal::TakePages(size) : internal::MapFile(file.get(), size);
  if (data == nullptr) return internal::MapFailure(path, "cannot map the file into memory");
  MappedFile map(data, size, *facts, is_trusted, copy);
  if (copy) {
    SKALD_TRY(internal::ReadAll(file.get(), PathText(path), std::span(static_cast<std::byte*>(data), size)));
    return map;
  }
  if (use == Use::kKeep) map.WillRead(map.bytes());
  if (use == Use::kReadOnce) map.WillReadOnce();
  return map;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_MAPPED_FILE_H_
