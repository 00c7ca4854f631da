// SPDX-License-Identifier: Apache-2.0

#include "terminal/text_editor.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "command_line/options.h"
#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"

namespace skald::program {
namespace {

std::string EditorCommand() {
  for (const char* const name : {"VISUAL", "EDITOR"}) {
    const char* const command = std::getenv(name);
    if (command != nullptr && *command != '\0') return command;
  }
  return "vi";
}

// A folder that only its user may enter, with what lies in it.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "skald-message-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // empty if it could not be made

 private:
  std::filesystem::path path_;
};

// Ctrl-C is the editor's while it runs.
class IgnoredInterrupts {
 public:
  IgnoredInterrupts() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &before_);
  }
  ~IgnoredInterrupts() { ::sigaction(SIGINT, &before_, nullptr); }
  IgnoredInterrupts(const IgnoredInterrupts&) = delete;
  IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;

 private:
  struct sigaction before_;
};

// Runs the editor on the terminal. Returns its status as wait tells it. Error: the system's.
Result<int> RunEditor(const std::string& editor, const std::string& file) {
  const std::string command = editor + " \"$1\"";
  const char* const words[] = {"sh", "-c", command.c_str(), "sh", file.c_str(), nullptr};
  sigset_t as_usual;
  sigemptyset(&as_usual);
  for (const int signal : {SIGINT, SIGPIPE, SIGXFSZ}) sigaddset(&as_usual, signal);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &as_usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t actions;  // answers may go to a file
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const IgnoredInterrupts interrupts;
  pid_t process = 0;
  const int error = ::posix_spawn(&process, "/bin/sh", &actions, &attributes, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return internal::SystemFailure("/bin/sh", error);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return internal::SystemFailure(editor);
  }
  return status;
}

}  // namespace

Result<std::string> EditText(std::string_view text) {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
    return Fail(ErrorCode::kFailedPrecondition, "an editor needs a terminal");
  }
  const PrivateFolder folder;
  if (folder.path().empty()) return internal::SystemFailure("a folder for the message");
  const std::filesystem::path file = folder.path() / "message.md";
  if (std::ofstream out(file, std::ios::binary); !(out << text << std::flush))
    return internal::SystemFailure(file.native());
  const std::string editor = EditorCommand();
  SKALD_ASSIGN(const int status, RunEditor(editor, file.string()));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return Fail(ErrorCode::kNotFound, editor + " cannot be run; EDITOR names another editor");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Fail(ErrorCode::kFailedPrecondition, editor + " failed: its text is not used");
  }
  SKALD_ASSIGN(auto written, ReadSmallFile(file, kMaxPromptBytes));
  written.erase(written.find_last_not_of("\r\n") + 1);
  return written;
}

}  // namespace skald::program
