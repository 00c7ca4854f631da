// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C ends what is being computed, not the program. A second one before the first was noticed ends the
// program.

#ifndef SKALD_EXAMPLES_SKALD_INTERRUPT_H_
#define SKALD_EXAMPLES_SKALD_INTERRUPT_H_

namespace skald::program {

// From now on Ctrl-C is only noted. It interrupts a read from a terminal.
void CatchInterrupts();

// Whether there was one since the last call of this function.
bool TakeInterrupt();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_INTERRUPT_H_
