// SPDX-License-Identifier: Apache-2.0
//
// Reads a whole small file: settings, tokenizers, prompts. Weights and chunks have readers of their own, and tell what
// a file is by its first bytes.

#ifndef SKALD_BASE_FILES_SMALL_FILE_H_
#define SKALD_BASE_FILES_SMALL_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/system_call.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

// Returns the bytes of the regular file at `path`. Errors name it: kNotFound; kInvalidArgument for a folder, a device,
// a pipe or a socket; kOutOfRange for more than `max_bytes`; kFailedPrecondition where the system refuses; kDataLoss
// where the file shrinks meanwhile. Never waits for a writer, and takes no more memory than the file has bytes.
inline Result<std::string> ReadSmallFile(const std::filesystem::path& path, uint64_t max_bytes) {
  return NoThrow(path.native(), [&]() -> Result<std::string> {
    const std::string& name = path.native();
    const internal::Descriptor file = internal::OpenFile(name.c_str(), internal::kOpenToRead);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return internal::SystemFailure(name);
    if (auto regular = internal::CheckRegular(status, name); !regular) return Failure(regular.error());
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

// Returns whether the regular file at `path` begins with `magic`, which has at most 16 bytes. What cannot be read does
// not.
inline bool FileBeginsWith(const std::filesystem::path& path, std::string_view magic) noexcept {
  const internal::Descriptor file = internal::OpenFile(path.c_str(), internal::kOpenToRead);
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::array<char, 16> found;
  const ssize_t count = internal::Uninterrupted([&] { return ::pread(file.get(), found.data(), magic.size(), 0); });
  return count >= 0 && std::string_view(found.data(), static_cast<size_t>(count)) == magic;
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_SMALL_FILE_H_
