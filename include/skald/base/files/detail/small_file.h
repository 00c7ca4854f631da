// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/small_file.h.

#ifndef SKALD_BASE_FILES_DETAIL_SMALL_FILE_H_
#define SKALD_BASE_FILES_DETAIL_SMALL_FILE_H_

#include "skald/base/files/small_file.h"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <span>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::string> ReadSmallFile(const std::filesystem::path& path, uint64_t max_bytes) {
  return NoThrow(path.native(), [&]() -> Result<std::string> {
    const std::string& name = path.native();
    const internal::Descriptor file = internal::OpenFile(name.c_str(), internal::kOpenToRead);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return internal::SystemFailure(name);
    SKALD_TRY(internal::CheckRegular(status, name));
    const auto size = static_cast<uint64_t>(status.st_size);
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
  const internal::Descriptor file = internal::OpenFile(path.c_str(), internal::kOpenToRead);
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::array<char, 16> found;
  const ssize_t count = internal::Uninterrupted([&] { return ::pread(file.get(), found.data(), magic.size(), 0); });
  return count >= 0 && std::string_view(found.data(), static_cast<size_t>(count)) == magic;
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_SMALL_FILE_H_
