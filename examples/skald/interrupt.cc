// SPDX-License-Identifier: Apache-2.0

#include "interrupt.h"

#include <csignal>

namespace skald::program {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void NoteInterrupt(int signal) {
  if (interrupted) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  interrupted = 1;
}

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = NoteInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read returns
  sigaction(SIGINT, &action, nullptr);
}

bool TakeInterrupt() {
  const bool taken = interrupted != 0;
  interrupted = 0;
  return taken;
}

}  // namespace skald::program
