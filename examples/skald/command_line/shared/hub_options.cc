// SPDX-License-Identifier: Apache-2.0

#include "command_line/shared/hub_options.h"

#include <string>
#include <utility>

#include "hub/hub_name.h"

namespace skald::program {
namespace {

HubName ParseHub(const std::string& text) {
  auto name = ParseHubName(text);
  if (!name) throw CLI::ValidationError("-hf", name.error().message);
  return *std::move(name);
}

}  // namespace

CLI::Option* AddHub(CLI::App& command, CLI::Option* path, Options& options) {
  CLI::Option* const hub = command.add_option_function<std::string>(
      "--hf", [&options](const std::string& text) { options.hub = ParseHub(text); },
      "Also -hf: a model on the Hugging Face hub, kept in the cache of\nits tools; QUANT picks one of its GGUF files");
  hub->type_name("ORG/REPO[:QUANT]");
  if (path != nullptr) hub->group(path->get_group())->excludes(path);
  return hub;
}

void AddPullOptions(CLI::App& command, Options& options) {
  command
      .add_option_function<std::string>(
          "NAME", [&options](const std::string& text) { options.hub = ParseHub(text); },
          "ORG/REPO, or ORG/REPO:QUANT for one of its GGUF files")
      ->required()
      ->type_name("");
  command.add_flag("--progress", options.show_progress, "Show how it proceeds even if stderr is no terminal");
}

}  // namespace skald::program
