// SPDX-License-Identifier: Apache-2.0
//
// Functions run in processes of their own, for tests of several processes at once and of killed processes.

#ifndef SKALD_TESTS_SUPPORT_CHILD_PROCESS_H_
#define SKALD_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "doctest/doctest.h"

namespace skald::testing {

// To be made while this process has only one thread.
class ChildProcess {
 public:
  // `function` returns whether all went well.
  template <class Function>
  explicit ChildProcess(Function function) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(function() ? EXIT_SUCCESS : EXIT_FAILURE);
    REQUIRE(pid_ > 0);
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ~ChildProcess() {
    if (pid_ > 0) Kill();
  }

  // As kill -9 does it.
  void Kill() {
    ::kill(pid_, SIGKILL);
    Wait();
  }
  // Returns what the function returned, or false if it came to no end.
  bool Wait() {
    int status = 0;
    const bool has_ended = ::waitpid(std::exchange(pid_, -1), &status, 0) > 0;
    return has_ended && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
  }

 private:
  pid_t pid_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_CHILD_PROCESS_H_
