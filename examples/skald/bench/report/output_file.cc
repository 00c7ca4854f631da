// SPDX-License-Identifier: Apache-2.0

#include "bench/report/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <utility>

#include "skald/base/files/fd_io.h"

namespace skald::program {
namespace {

constexpr size_t kRoom = 65536;  // bytes; more than most results take

// Some systems notice a full disk only when bytes are written: these are taken back. A device has no size to go back
// to.
Result<void> CheckRoom(int fd, const std::string& name) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return internal::SystemFailure(name);
  if (!S_ISREG(status.st_mode)) return {};
  const std::string trial(kRoom, ' ');
  auto written = internal::WriteAll(fd, name, std::as_bytes(std::span(trial)));
  if (::ftruncate(fd, status.st_size) != 0 && written) return internal::SystemFailure(name);
  return written;
}

}  // namespace

Result<OutputFile> OutputFile::Open(const std::filesystem::path& path) {
  const std::string name = path.string();
  internal::Descriptor file(
      internal::Uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); }));
  if (file.get() < 0) return internal::SystemFailure(name);
  SKALD_TRY(CheckRoom(file.get(), name));
  return OutputFile(std::move(file), name);
}

Result<void> OutputFile::Append(std::string_view text) {
  return internal::WriteAll(file_.get(), name_, std::as_bytes(std::span(text)));
}

Result<void> OutputFile::Replace(std::string_view text) {
  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0) return internal::SystemFailure(name_);
  if (S_ISREG(status.st_mode) && ::ftruncate(file_.get(), 0) != 0) return internal::SystemFailure(name_);
  return Append(text);
}

}  // namespace skald::program
