// SPDX-License-Identifier: Apache-2.0
//
// Makes untrusted text (files, servers, vocabularies) safe for a terminal, a log or an error message.

#ifndef SKALD_BASE_TEXT_PRINTABLE_H_
#define SKALD_BASE_TEXT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace skald {

/// Returns `text` as valid UTF-8 without control characters, which could control the reader's terminal: a question mark
/// replaces each of them (C0, DEL and C1) and each byte that is not part of a character.
std::string Printable(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/text/detail/printable.h"
#endif

#endif  // SKALD_BASE_TEXT_PRINTABLE_H_
