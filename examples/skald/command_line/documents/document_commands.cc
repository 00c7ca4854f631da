// SPDX-License-Identifier: Apache-2.0

#include "command_line/documents/document_commands.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <vector>

#include "command_line/documents/completion.h"
#include "command_line/documents/described.h"
#include "command_line/documents/man_page.h"

namespace skald::program {

void AddDocumentCommands(CLI::App& app) {
  CLI::App& completion =
      *app.add_subcommand("completion", "Print a script that completes this program's words in a shell");
  completion.add_option("SHELL", "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}))->type_name("");
  app.add_subcommand("man", "Print the manual page, for 'man -l -'");
  app.add_subcommand("help", "Print the help of a command");
  for (const char* const command : {"completion", "man", "help"}) app.get_subcommand(command)->footer("");
}

std::vector<std::string> AskingForHelp(const CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "help") return arguments;
  const auto is_asked = [&arguments](const CLI::App* command) { return command->check_name(arguments[1]); };
  if (arguments.size() > 1 && app.get_subcommands(is_asked).empty()) {
    throw CLI::ValidationError("help", "there is no command " + arguments[1]);
  }
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
  return arguments;
}

bool PrintDocument(const CLI::App& app, const std::string& version) {
  if (app.got_subcommand("completion")) {
    const auto shell = app.get_subcommand("completion")->get_option("SHELL")->as<std::string>();
    const auto write = shell == "bash" ? BashCompletion : shell == "zsh" ? ZshCompletion : FishCompletion;
    std::cout << write(Describe(app));
  } else if (app.got_subcommand("man")) {
    std::cout << ManPage(Describe(app), version);
  } else {
    return false;
  }
  return true;
}

}  // namespace skald::program
