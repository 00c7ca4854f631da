// SPDX-License-Identifier: Apache-2.0
//
// Commands that print texts about the command line itself: help, completion and man. Its definition makes all three.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_DOCUMENT_COMMANDS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_DOCUMENT_COMMANDS_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace skald::program {

void AddDocumentCommands(CLI::App& app);

// Returns `arguments`, without the program's name, with "help COMMAND" replaced by "COMMAND --help". Throws CLI11's
// error for a command that there is not.
std::vector<std::string> AskingForHelp(const CLI::App& app, std::vector<std::string> arguments);

// Prints what one of these commands of the parsed command line asks for. Returns whether one does. Throws CLI11's
// errors.
bool PrintDocument(const CLI::App& app, const std::string& version);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_DOCUMENT_COMMANDS_H_
