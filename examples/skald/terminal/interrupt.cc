// SPDX-License-Identifier: Apache-2.0

#include "terminal/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "skald/base/files/system_call.h"

namespace skald::program {
namespace {

// Any thread may get a signal, so these are atomic, and a wait is ended by bytes in a pipe: a system call that was
// about to begin in another thread would not notice the signal.
std::atomic<bool> interrupted = false;
std::atomic<int> stop_signal = 0;
std::atomic<time_t> stopped_at = 0;
std::atomic<bool> wants_reload = false;
bool hangup_reloads = false;
int wake_pipe[2] = {-1, -1};

// Whether the program was started with nohup. Constructors of libraries may set handlers before main does (UCX, which
// some builds of Open MPI load, takes SIGHUP for its debugger), so on ELF systems this is asked before all of them.
bool ignores_hangups = false;

void NoteHangups() {
  struct sigaction before;
  ignores_hangups = sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

#if defined(__ELF__)
[[gnu::section(".preinit_array"), gnu::used]] void (*const note_hangups_first)() = NoteHangups;
#else
[[gnu::constructor]] void NoteHangupsEarly() { NoteHangups(); }
#endif

time_t Now() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void Die(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void NoteSignal(int signal) {
  const int saved = errno;
  const int stopping = stop_signal;
  if (signal == SIGINT) {
    if (interrupted.exchange(true) || stopping != 0) Die(signal);
  } else if (stopping == 0) {
    stopped_at = Now();
    stop_signal = signal;
  } else if (Now() > stopped_at + 1) {
    Die(signal);
  }
  static_cast<void>(!::write(wake_pipe[1], "", 1));  // a full pipe wakes as well
  errno = saved;
}

void NoteReload(int) {
  const int saved = errno;
  wants_reload = true;
  static_cast<void>(!::write(wake_pipe[1], "", 1));  // before there is a pipe, no thread waits
  errno = saved;
}

}  // namespace

Result<void> CatchReloads() {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // what is being loaded is not disturbed
  action.sa_handler = NoteReload;
  if (sigaction(SIGHUP, &action, nullptr) != 0) return internal::SystemFailure("signals");
  hangup_reloads = true;
  return {};
}

Result<void> CatchSignals() {
  if (::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return internal::SystemFailure("a pipe for signals");
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a write to a reader that is stuck returns
  // SIGUSR1 is what mpirun passes on to ranks as it is; at SIGTERM it kills them two seconds later.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    if (signal == SIGHUP && hangup_reloads) continue;
    action.sa_handler = signal == SIGHUP && ignores_hangups ? SIG_IGN : NoteSignal;
    if (sigaction(signal, &action, nullptr) != 0) return internal::SystemFailure("signals");
  }
  return {};
}

bool TakeInterrupt() { return interrupted.exchange(false) || stop_signal != 0; }

int StopSignal() { return stop_signal; }

int ExitCodeOfSignal() { return 128 + (stop_signal != 0 ? stop_signal.load() : SIGINT); }

bool WaitForInput(int descriptor) {
  std::array<pollfd, 2> waiting = {{{descriptor, POLLIN, 0}, {wake_pipe[0], POLLIN, 0}}};
  while (::poll(waiting.data(), waiting.size(), -1) < 0) {
    if (errno != EINTR) return true;  // reading will tell what is wrong
  }
  if (waiting[1].revents == 0) return true;
  std::array<char, 64> noted;
  while (::read(wake_pipe[0], noted.data(), noted.size()) > 0) {
  }
  return false;
}

bool WaitForReload() {
  constexpr int kNoDescriptor = -1;
  while (!interrupted && stop_signal == 0) {
    if (wants_reload.exchange(false)) return true;
    (void)WaitForInput(kNoDescriptor);
  }
  return false;
}

}  // namespace skald::program
