// SPDX-License-Identifier: Apache-2.0
//
// How --help writes options: a list of values that is too long for the column of names is part of what the option is
// for.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_HELP_FORMATTER_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace skald::program {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_DOCUMENTS_HELP_FORMATTER_H_
