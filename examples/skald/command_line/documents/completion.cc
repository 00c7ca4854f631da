// SPDX-License-Identifier: Apache-2.0

#include "command_line/documents/completion.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace skald::program {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::vector<std::string> NamesOfCommands(const DescribedProgram& program) {
  std::vector<std::string> names;
  for (const DescribedCommand& command : program.commands) names.push_back(command.name);
  return names;
}

// All names of options, of which a person can choose one.
std::string OptionWords(const DescribedCommand& command) {
  std::vector<std::string> words;
  for (const DescribedOption& option : command.options) {
    if (!option.is_argument) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return Joined(words);
}

// `text` with a backslash before each of `special`, and within single quotes of a shell.
std::string Quoted(std::string_view text, std::string_view special = "") {
  std::string quoted = "'";
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) quoted += '\\';
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

// The words after an option in bash: listed values, a file's name, or nothing to choose.
std::string BashValues(const DescribedCommand& command) {
  std::string cases;
  for (const DescribedOption& option : command.options) {
    if (option.is_argument || option.value.empty()) continue;
    for (const std::string& name : option.names) {
      cases += "    '" + command.name + " " + name + "') ";
      cases += option.values.empty() ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                                     : "COMPREPLY=($(compgen -W " + Quoted(Joined(option.values)) + " -- \"$word\"))";
      cases += "; return ;;\n";
    }
  }
  return cases;
}

// _arguments' form: --name[purpose]:KIND:values. An argument is a file, or one of its values.
std::string ZshOption(const DescribedOption& option, const std::string& name) {
  const std::string values = option.values.empty() ? "_files" : "(" + Joined(option.values) + ")";
  if (option.is_argument) return Quoted("*:" + name + ":" + values);
  std::string spec;
  for (const char c : option.purpose)
    spec += std::string_view("[]:\\").find(c) == std::string_view::npos ? std::string(1, c) : std::string("\\") + c;
  return Quoted("*" + name + "[" + spec + "]" + (option.value.empty() ? "" : ":" + option.value + ":" + values));
}

std::string FishOption(const DescribedOption& option, const std::string& condition) {
  if (option.is_argument && option.values.empty()) return "";
  std::string line = "complete -c skald -n " + Quoted(condition);
  if (!option.is_argument) {
    for (const std::string& name : option.names) {
      line += name.starts_with("--") ? " -l " + name.substr(2) : (name.size() == 2 ? " -s " : " -o ") + name.substr(1);
    }
    if (!option.value.empty()) line += " -r";
  }
  if (!option.values.empty()) line += " -f -a " + Quoted(Joined(option.values), "\\");
  return line + " -d " + Quoted(option.purpose, "\\") + "\n";
}

}  // namespace

std::string BashCompletion(const DescribedProgram& program) {
  const std::string commands = Joined(NamesOfCommands(program));
  std::string values, options = "    '') words=" + Quoted(commands + " " + OptionWords(program.main)) + " ;;\n";
  for (const DescribedCommand& command : program.commands) {
    values += BashValues(command);
    std::vector<std::string> listed;
    for (const DescribedOption& option : command.options) {
      if (option.is_argument) listed.insert(listed.end(), option.values.begin(), option.values.end());
    }
    const std::string words = Joined(listed);
    options += "    " + command.name + ") words=" + Quoted(OptionWords(command)) +
               (words.empty() ? "" : " arguments=" + Quoted(words)) + " ;;\n";
  }
  return "# Completion of skald in bash: source <(skald completion bash)\n"
         "_skald() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= words= arguments= given\n"
         "  for given in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \" " +
         commands +
         " \" in *\" $given \"*) command=$given; break ;; esac\n"
         "  done\n"
         "  case \"$command $before\" in\n" +
         values +
         "  esac\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  if [[ -z $command || $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  elif [[ -n $arguments ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$arguments\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _skald skald\n";
}

std::string ZshCompletion(const DescribedProgram& program) {
  std::string commands, cases;
  for (const DescribedCommand& command : program.commands) {
    commands += "    " + Quoted(command.name + ":" + command.purpose) + "\n";
    cases += "    " + command.name + ") _arguments";
    for (const DescribedOption& option : command.options) {
      for (const std::string& name : option.names) cases += " \\\n      " + ZshOption(option, name);
    }
    cases += " ;;\n";
  }
  return "#compdef skald\n"
         "# Completion of skald in zsh: a file _skald in a folder of $fpath, or source <(skald completion zsh)\n"
         "_skald() {\n"
         "  local -a commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _skald ]]; then _skald \"$@\"; else compdef _skald skald; fi\n";
}

std::string FishCompletion(const DescribedProgram& program) {
  std::string script = "# Completion of skald in fish: skald completion fish | source\n";
  for (const DescribedCommand& command : program.commands) {
    script += "complete -c skald -f -n __fish_use_subcommand -a " + command.name + " -d " +
              Quoted(command.purpose, "\\") + "\n";
    for (const DescribedOption& option : command.options) {
      script += FishOption(option, "__fish_seen_subcommand_from " + command.name);
    }
  }
  return script;
}

}  // namespace skald::program
