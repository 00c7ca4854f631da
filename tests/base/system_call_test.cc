// SPDX-License-Identifier: Apache-2.0
//
// Whose file is to be believed, and descriptors that close themselves.

#include "skald/base/files/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "doctest/doctest.h"
#include "tests/support/check_error.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace system_call_test {

using internal::Descriptor;
using internal::IsTrustedFile;
using internal::OpenToRead;

TEST_CASE("a file is believed if only we and root can have written it") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  WriteFile(file, "x");
  for (const mode_t mode : {0600, 0644, 0444, 0755}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    CHECK(IsTrustedFile(OpenToRead(file).get()));
  }
  for (const mode_t mode : {0620, 0602, 0666, 0664}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    CHECK_FALSE(IsTrustedFile(OpenToRead(file).get()));
  }
  CHECK_FALSE(IsTrustedFile(OpenToRead(folder.path()).get()));
  CHECK_FALSE(IsTrustedFile(-1));
  if (::geteuid() != 0) return;  // only root can give files away
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::chown(file.c_str(), 65534, 65534) == 0);
  CHECK_FALSE(IsTrustedFile(OpenToRead(file).get()));
  CHECK_FALSE(IsTrustedFile(OpenToRead("/dev/null").get()));
}

TEST_CASE("a descriptor is closed once, by whoever has it last") {
  Descriptor first = OpenToRead("/dev/null");
  const int number = first.get();
  Descriptor second = std::move(first);
  CHECK(first.get() == -1);
  CHECK(::fcntl(number, F_GETFD) == FD_CLOEXEC);
  CHECK(second.Close() == 0);
  CHECK(::fcntl(number, F_GETFD) == -1);
  CHECK(second.Close() == 0);
}

TEST_CASE("the error of a system call names the thing and the reason") {
  REQUIRE(OpenToRead("/no/such/file").get() == -1);
  CheckError(Result<void>(internal::SystemFailure("/no/such/file")), ErrorCode::kNotFound,
             "/no/such/file: No such file or directory");
  CheckError(Result<void>(internal::SystemFailure("x", ENOSPC)), ErrorCode::kResourceExhausted, "x: No space left");
  CheckError(Result<void>(internal::SystemFailure("x", EACCES)), ErrorCode::kFailedPrecondition, "x: Permission");
}

}  // namespace system_call_test
}  // namespace skald::testing
