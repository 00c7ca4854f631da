// SPDX-License-Identifier: Apache-2.0
//
// StateLock: a folder of conversations belongs to one server at a time. Two would undo each other's changes.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_STATE_STATE_LOCK_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_STATE_STATE_LOCK_H_

#include <filesystem>
#include <utility>

#include "skald/base/files/system_call.h"
#include "skald/base/result.h"

namespace skald::serve {

// Move-only. Holds the folder as long as it lives; the system lets it go when the process ends, however it ends.
class StateLock {
 public:
  // Makes the folder if it is not there. Errors: kFailedPrecondition where another process holds it, naming the folder,
  // the process and its host; the file system's.
  static Result<StateLock> Take(const std::filesystem::path& folder);

 private:
  explicit StateLock(internal::Descriptor file) : file_(std::move(file)) {}

  internal::Descriptor file_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_STATE_STATE_LOCK_H_
