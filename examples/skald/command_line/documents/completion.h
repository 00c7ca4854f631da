// SPDX-License-Identifier: Apache-2.0
//
// Scripts that complete the command line in shells.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_COMPLETION_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_COMPLETION_H_

#include <string>

#include "command_line/documents/described.h"

namespace skald::program {

// Completes commands, options, listed values, and names of files elsewhere.
std::string BashCompletion(const DescribedProgram& program);
std::string ZshCompletion(const DescribedProgram& program);
std::string FishCompletion(const DescribedProgram& program);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_COMPLETION_H_
