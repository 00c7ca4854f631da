// SPDX-License-Identifier: Apache-2.0
//
// Text of strangers (files, servers, vocabularies) as a terminal, a log or an error message may show it.

#ifndef SKALD_BASE_TEXT_PRINTABLE_H_
#define SKALD_BASE_TEXT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace skald {

/// Returns `text` as valid UTF-8 without control characters, which could drive the reader's terminal: a question mark
/// stands for each of them (C0, DEL and C1) and for each byte that is not part of a character.
std::string Printable(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/text/detail/printable.h"
#endif

#endif  // SKALD_BASE_TEXT_PRINTABLE_H_
