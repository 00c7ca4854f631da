// SPDX-License-Identifier: Apache-2.0

#include "command_line/documents/described.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace skald::program {
namespace {

// CLI11 writes the kind of a value and what is allowed as "TYPE:{bf16,f32}".
void ReadKind(const std::string& kind, DescribedOption& option) {
  option.value = kind.substr(0, kind.find(":{"));
  const size_t begin = kind.find('{'), end = kind.find('}');
  if (begin == std::string::npos || end == std::string::npos) return;
  option.values = CLI::detail::split(kind.substr(begin + 1, end - begin - 1), ',');
}

DescribedOption DescribeOption(const CLI::Option& option) {
  DescribedOption described;
  described.is_argument = !option.nonpositional();
  if (described.is_argument) described.names.push_back(option.get_name(/*positional=*/true));
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  described.purpose = option.get_description();
  std::ranges::replace(described.purpose, '\n', ' ');
  if (option.get_items_expected_max() > 0) {
    ReadKind(option.get_type_name(), described);
    if (described.value.empty()) described.value = "VALUE";
  }
  return described;
}

DescribedCommand DescribeCommand(const CLI::App& app) {
  DescribedCommand command{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* const option : app.get_options()) command.options.push_back(DescribeOption(*option));
  return command;
}

}  // namespace

DescribedProgram Describe(const CLI::App& app) {
  DescribedProgram program{DescribeCommand(app), {}};
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    program.commands.push_back(DescribeCommand(*command));
  }
  return program;
}

}  // namespace skald::program
