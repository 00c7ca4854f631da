// SPDX-License-Identifier: Apache-2.0
//
// Signals as requests. Ctrl-C (SIGINT) ends what is being computed, not the program; SIGTERM, SIGHUP and SIGUSR1 end
// the program as soon as it has put away what it holds. A second signal ends it at once: a Ctrl-C that comes before the
// first signal was noticed, or another one a second after a request to end. (Two at the same time are one request: a
// terminal that is closed, or `timeout`, may send it to the process and then to its group.) A server may take SIGHUP as
// a request to read its files again.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_INTERRUPT_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_INTERRUPT_H_

#include "skald/base/result.h"

namespace skald::program {

// From now on these signals are only noted. Error: the system's.
Result<void> CatchSignals();

// From now on SIGHUP asks to reload, whatever CatchSignals does. Requests are kept until WaitForReload. Error: the
// system's.
Result<void> CatchReloads();

// Whether to end what is being computed: there was a Ctrl-C since the last call of this function, or the program shall
// end.
bool TakeInterrupt();

// The signal that asked the program to end, 0 if there was none.
int StopSignal();

// The exit status of the program after that signal, or after an interrupt if there was none.
int ExitCodeOfSignal();

// Waits until `descriptor` can be read, or is at its end. Returns false when a signal comes first, or came since the
// last call of this function. Call after CatchSignals.
bool WaitForInput(int descriptor);

// Waits for a signal. Returns whether it asks to reload; else there was one that asks to end, which is still to be
// taken. Call after CatchSignals.
bool WaitForReload();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_INTERRUPT_H_
