// SPDX-License-Identifier: Apache-2.0
//
// The manual page, for man.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_MAN_PAGE_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_MAN_PAGE_H_

#include <string>

#include "command_line/documents/described.h"

namespace skald::program {

// Returns skald(1) in roff.
std::string ManPage(const DescribedProgram& program, const std::string& version);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_MAN_PAGE_H_
