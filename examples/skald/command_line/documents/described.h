// SPDX-License-Identifier: Apache-2.0
//
// The command line as data, read from its definition, for what is made of it: completions of shells and the manual
// page.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_DESCRIBED_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_DESCRIBED_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace skald::program {

struct DescribedOption {
  std::vector<std::string> names;   // with their dashes, short ones first; of an argument its name
  std::string value;                // kind of its value; empty: a flag
  std::vector<std::string> values;  // all that there are; empty: others than can be listed
  std::string purpose;              // on one line
  bool is_argument = false;         // without a name on the command line
};

struct DescribedCommand {
  std::string name, purpose, footer;
  std::vector<DescribedOption> options;
};

struct DescribedProgram {
  DescribedCommand main;                   // the options without a command
  std::vector<DescribedCommand> commands;  // in the order of their definition
};

DescribedProgram Describe(const CLI::App& app);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_DESCRIBED_H_
