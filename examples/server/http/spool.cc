// SPDX-License-Identifier: Apache-2.0

#include "server/http/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "skald/base/files/fd_io.h"
#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

Failure SpoolFailure(const std::filesystem::path& folder) {
  return Fail(ErrorCode::kResourceExhausted,
              "a temporary file in " + folder.string() + ": " + std::generic_category().message(errno));
}

// A file that has no name, or had one for a moment if the file system needs one.
int OpenNameless(const std::filesystem::path& folder) {
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivateFile);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return nameless;
  std::string name = folder / "spool-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

Result<std::shared_ptr<SpooledFile>> Spool::Create() {
  return NoThrow("a temporary file", [&]() -> Result<std::shared_ptr<SpooledFile>> {
    const std::filesystem::path folder = folder_.empty() ? std::filesystem::temp_directory_path() : folder_;
    const int descriptor = OpenNameless(folder);
    if (descriptor < 0) return SpoolFailure(folder);
    return std::make_shared<SpooledFile>(*this, descriptor);
  });
}

bool Spool::Take(uint64_t bytes) {
  const uint64_t before = used_.fetch_add(bytes);
  if (bytes <= most_ && before <= most_ - bytes) return true;
  used_ -= bytes;
  return false;
}

SpooledFile::~SpooledFile() {
  ::close(descriptor_);
  spool_.used_ -= size_;
}

Result<void> SpooledFile::Write(std::span<const std::byte> bytes) {
  if (!spool_.Take(bytes.size())) {
    return Fail(ErrorCode::kResourceExhausted, "conversations that travel have " + std::to_string(spool_.most_bytes()) +
                                                   " bytes of disk together, which are in use");
  }
  size_ += bytes.size();
  return FdStream(descriptor_, "a temporary file").Write(bytes);
}

Result<void> SpooledFile::ReadAt(uint64_t place, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return Fail(ErrorCode::kFailedPrecondition, "a temporary file: " + std::generic_category().message(errno));
    if (count == 0)
      return Fail(ErrorCode::kDataLoss,
                  "the file ends where " + std::to_string(bytes.size()) + " more bytes are expected");
    place += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace skald::serve
