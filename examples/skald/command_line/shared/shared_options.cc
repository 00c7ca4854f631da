// SPDX-License-Identifier: Apache-2.0

#include "command_line/shared/shared_options.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>

#include "command_line/shared/option_checks.h"
#include "skald/open/tools/output_format.h"

namespace skald::program {

std::vector<std::string> WithLongNames(std::vector<std::string> arguments) {
  const bool is_bench = !arguments.empty() && arguments.front() == "bench";
  const auto end = std::ranges::find(arguments, "--");
  std::replace(arguments.begin(), end, std::string("-hf"), std::string("--hf"));
  if (is_bench) std::replace(arguments.begin(), end, std::string("-pg"), std::string("--prompt-generate"));
  return arguments;
}

CLI::App& AddCommand(CLI::App& app, const char* name, const char* description, Command value, Options& options) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.callback([&options, value] { options.command = value; });
  return command;
}

DType ParseDType(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (unsigned i = 0; NameOf(static_cast<DType>(i)) != "unknown"; ++i) {
    if (NameOf(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  throw CLI::ValidationError("--dtype", "there is no element type " + name);
}

void AddRanks(CLI::App& command, Options& options, const char* group) {
  command
      .add_flag(
          "--ranks", options.use_ranks,
          "Compute with all processes that mpirun started, each with\na part of the weights and of the cache: the "
          "same bits")
      ->group(group);
  command
      .add_option_function<double>(
          "--rank-timeout",
          [&options](double seconds) {
            options.rank_patience = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
          },
          "Seconds after which a rank that does not answer is given up\n(default: 30)")
      ->check(Within(1, 86400))
      ->type_name("SECONDS")
      ->group(group);
}

CLI::Option* AddKvType(CLI::App& command, DType& type) {
  return command
      .add_option_function<std::string>(
          "--kv-type", [&type](const std::string& name) { type = ParseDType(name); },
          "Element type of the cache alone: i8, bytes with a scale for\neach token and head, takes about half of "
          "bf16's memory")
      ->check(CLI::IsMember({"bf16", "f32", "i8"}))
      ->type_name("TYPE");
}

void AddDraftOptions(CLI::App& command, const char* group, DraftOptions& draft, CLI::Option* other) {
  auto* const mtp = command.add_flag(
      "--mtp", draft.mtp,
      "Guess tokens with the layers for further tokens that the\nmodel's files have: faster, and never another text");
  auto* const model = command.add_option("--draft-model", draft.model,
                                         "Smaller model with the same vocabulary, or EAGLE-3 head or\ndrafter of "
                                         "Gemma 4 for the model (folder or GGUF file),\nthat guesses tokens: "
                                         "faster where it is right, and never\nanother text");
  mtp->group(group)->excludes(model);
  model->type_name("PATH")->group(group);
  if (other == nullptr) return;
  mtp->excludes(other);
  model->excludes(other);
}

void AddTemplateOptions(CLI::App& command, bool has_tools, Options& options) {
  command
      .add_option("--chat-template-file", options.chat_template_file, "Chat template in Jinja, in place of the model's")
      ->check(CLI::ExistingFile)
      ->check([&command](const std::string&) {
        return std::string(command.count("--chat-template") > 0 ? "there is a --chat-template too, expected one of them"
                                                                : "");
      })
      ->type_name("FILE")
      ->group("Model");
  if (!has_tools) return;
  command
      .add_option("--tool-format", options.tool_format,
                  "How the model calls tools (default: as its chat template\ntells; json describes tools in a text)")
      ->check(CLI::IsMember(ToolFormNames()))
      ->type_name("NAME")
      ->group("Model");
}

}  // namespace skald::program
