// SPDX-License-Identifier: Apache-2.0
//
// Messages to the user on stderr, a line each.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_MESSAGES_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_MESSAGES_H_

#include <string_view>

namespace skald::program {

// "skald: ...", for errors.
void Report(std::string_view sentence) noexcept;

// "skald: warning: ...", for what the run can do without.
void Warn(std::string_view sentence) noexcept;

// "[...]", beside a conversation.
void Note(std::string_view text) noexcept;

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_MESSAGES_H_
