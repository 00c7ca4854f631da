// SPDX-License-Identifier: Apache-2.0

#include "command_line/documents/man_page.h"

#include <string_view>

namespace skald::program {
namespace {

// `text` as roff shows it as it is.
std::string Escaped(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    begins_line = c == '\n';
  }
  return escaped;
}

std::string Option(const DescribedOption& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "\\fB" : ", \\fB") + Escaped(name) + "\\fR";
  if (!option.value.empty() && !option.is_argument) names += " \\fI" + Escaped(option.value) + "\\fR";
  std::string listed;
  for (const std::string& value : option.values) listed += (listed.empty() ? " One of " : ", ") + value;
  if (!listed.empty()) listed += ".";
  return ".TP\n" + names + "\n" + Escaped(option.purpose + (listed.empty() ? "" : ".") + listed) + "\n";
}

std::string Footer(const std::string& footer) {
  return footer.empty() ? "" : ".PP\n.nf\n" + Escaped(footer) + "\n.fi\n";
}

}  // namespace

std::string ManPage(const DescribedProgram& program, const std::string& version) {
  std::string page = ".TH SKALD 1 \"\" \"" + Escaped(version) +
                     "\"\n.SH NAME\nskald \\- runs language models on the CPU\n" +
                     ".SH SYNOPSIS\n\\fBskald\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n" +
                     Escaped(program.main.purpose) + "\n" + Footer(program.main.footer) + ".SH COMMANDS\n";
  for (const DescribedCommand& command : program.commands) {
    page += ".SS \"skald " + command.name + "\"\n" + Escaped(command.purpose) + ".\n";
    for (const DescribedOption& option : command.options) page += Option(option);
    page += Footer(command.footer);
  }
  return page +
         ".SH EXIT STATUS\n0, 1 after an error, 2 after a mistake on the command line, or 128 and the number of the "
         "signal that ended it.\n";
}

}  // namespace skald::program
