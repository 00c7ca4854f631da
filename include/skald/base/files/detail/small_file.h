// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/small_file.h.

#ifndef SKALD_BASE_FILES_DETAIL_SMALL_FILE_H_
#define SKALD_BASE_FILES_DETAIL_SMALL_FILE_H_

#include "skald/base/files/small_file.h"

#include <array>
#include <cstddef>
#include <span>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::string> ReadSmallFile(const std::filesystem::path& path, uint64_t max_bytes) {
  const auto& name = PathText(path);
  return NoThrow(name, [&]() -> Result<std::string> {
    const internal::Descriptor file = internal::OpenToRead(path);
    const auto facts = file.get() < 0 ? std::nullopt : internal::FactsOf(file.get());
    if (!facts) return internal::SystemFailure(name);
    SKALD_TRY(internal::CheckRegular(facts->kind, name));
    const uint64_t size = facts->bytes;
    if (size > max_bytes) {
      return Fail(ErrorCode::kOutOfRange, name + ": the file has " + std::to_string(size) +
                                              " bytes, expected at most " + std::to_string(max_bytes));
    }
    std::string text(static_cast<size_t>(size), '\0');
    if (auto read = FdStream(file.get(), name).Read(std::as_writable_bytes(std::span(text))); !read) {
      return Failure(read.error());
    }
    return text;
  });
}

SKALD_INLINE bool FileBeginsWith(const std::filesystem::path& path, std::string_view magic) noexcept {
  const internal::Descriptor file = internal::OpenToRead(path);
  const auto facts = file.get() < 0 ? std::nullopt : internal::FactsOf(file.get());
  if (!facts || facts->kind != FileKind::kRegular) return false;
  std::array<char, 16> found;
  const int64_t count = internal::ReadSome(file.get(), std::as_writable_bytes(std::span(found)).first(magic.size()));
  return count >= 0 && std::string_view(found.data(), static_cast<size_t>(count)) == magic;
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_SMALL_FILE_H_
