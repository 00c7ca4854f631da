// SPDX-License-Identifier: Apache-2.0

#include "server/service/state/state_lock.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/folders.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/printable.h"

namespace skald::serve {
namespace {

// "process 4711 on HOST", as the lock file names the process that holds a folder.
std::string ThisProcess() {
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

std::string Holder(int file) {
  std::array<char, 512> text;
  const ssize_t bytes = internal::Uninterrupted([&] { return ::pread(file, text.data(), text.size(), 0); });
  return bytes > 0 ? Printable({text.data(), static_cast<size_t>(bytes)}) : "another process";
}

}  // namespace

Result<StateLock> StateLock::Take(const std::filesystem::path& folder) {
  return NoThrow(folder.native(), [&]() -> Result<StateLock> {
    SKALD_TRY(MakeFolder(folder));
    const std::string name = (folder / "server.lock").string();
    internal::Descriptor file = internal::OpenOrMake(name, kPrivateFile);
    if (file.get() < 0) return internal::SystemFailure(name);
    if (!internal::TryLock(file.get())) {
      if (errno != EWOULDBLOCK) return internal::SystemFailure(name);
      return Fail(ErrorCode::kFailedPrecondition, folder.string() + ": another server keeps its state here, " +
                                                      Holder(file.get()) + "; each server needs a folder of its own");
    }
    // This text serves the message above alone: if it cannot be written, the lock holds nevertheless.
    const std::string holder = ThisProcess();
    if (::ftruncate(file.get(), 0) == 0) {
      (void)internal::Uninterrupted([&] { return ::pwrite(file.get(), holder.data(), holder.size(), 0); });
    }
    return StateLock(std::move(file));
  });
}

}  // namespace skald::serve
