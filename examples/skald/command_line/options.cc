// SPDX-License-Identifier: Apache-2.0

#include "command_line/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "command_line/documents/document_commands.h"
#include "command_line/documents/help_formatter.h"
#include "command_line/help_footers.h"
#include "command_line/of_commands/bench_options.h"
#include "command_line/of_commands/encoding_options.h"
#include "command_line/of_commands/file_options.h"
#include "command_line/of_commands/serve_options.h"
#include "command_line/of_commands/text_options.h"
#include "command_line/of_commands/write_gguf_options.h"
#include "command_line/shared/hub_options.h"
#include "command_line/shared/model_options.h"
#include "command_line/shared/option_checks.h"
#include "command_line/shared/running_options.h"
#include "command_line/shared/sampling_options.h"
#include "command_line/shared/shared_options.h"
#include "skald/base/version.h"
#include "skald/sampling/settings.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

const std::string kVersion = "skald " + std::to_string(SKALD_VERSION_MAJOR) + "." +
                             std::to_string(SKALD_VERSION_MINOR) + "." + std::to_string(SKALD_VERSION_PATCH);

// Of a command that writes texts.
void AddWriterOptions(CLI::App& command, Options& options) {
  AddSamplingOptions(command, options);
  AddLoadOptions(command, options);
  AddRanks(command, options, "Running");
  AddRuntimeOptions(command, "none", options);
}

void AddGenerate(CLI::App& app, Options& options) {
  CLI::App& generate = AddCommand(app, "generate", "Continue a text", Command::kGenerate, options);
  AddTextOptions(generate, options);
  AddModelOptions(generate, AddModelPath(generate, options), "none", options);
  AddAdapterOption(generate, options);
  AddSteeringOptions(generate, options);
  generate.footer(kGenerateFooter);
  AddWriterOptions(generate, options);
}

void AddChat(CLI::App& app, Options& options) {
  CLI::App& chat = AddCommand(app, "chat", "Talk with a model", Command::kChat, options);
  chat.alias("run");
  chat.add_option("--session", options.session, "File to go on from, and to keep the conversation in")
      ->type_name("FILE")
      ->group("Prompt");
  chat.add_option("--system", options.system, "What the model is told before the first message")
      ->type_name("TEXT")
      ->group("Prompt");
  chat.add_option_function<std::vector<std::string>>(
          "--set",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              options.variables.push_back(ParsePair("--set", "NAME=JSON", text));
            }
          },
          "A variable of the chat template: enable_thinking=false.\nRepeatable")
      ->type_name("NAME=JSON")
      ->type_size(1)
      ->group("Prompt");
  AddModelOptions(chat, AddModelPath(chat, options), "what the model suggests", options);
  AddTemplateOptions(chat, /*has_tools=*/false, options);
  AddDraftOptions(chat, "Running", options.draft, nullptr);
  AddAdapterOption(chat, options);
  AddSteeringOptions(chat, options);
  chat.footer(kChatFooter);
  AddWriterOptions(chat, options);
}

void AddServe(CLI::App& app, Options& options) {
  CLI::App& serve = AddCommand(app, "serve", "Serve models over HTTP: OpenAI's and Anthropic's APIs, and a page",
                               Command::kServe, options);
  AddModelOptions(serve, AddServedModels(serve, options), "what the model suggests", options);
  AddTemplateOptions(serve, /*has_tools=*/true, options);
  AddServeOptions(serve, options);
  AddSteeringOptions(serve, options);
  serve.add_option("--system", options.system, "What the model is told in chats that do not tell it anything")
      ->type_name("TEXT")
      ->group("Chats");
  AddSamplerOptions(serve, options);
  AddSeedOption(serve, "Of answers whose requests have none (default: a random one\nfor each)", options);
  AddLoadOptions(serve, options);
  AddRanks(serve, options, "Running");
  AddRuntimeOptions(serve, "a quarter of the machine's memory; for each of several models\nan eighth of --memory",
                    options);
  serve.footer(kServeFooter);
}

// The commands that neither write texts nor serve.
void AddOthers(CLI::App& app, Options& options) {
  CLI::App& pull =
      AddCommand(app, "pull", "Download a model from the hub, and print where it is", Command::kPull, options);
  AddPullOptions(pull, options);
  pull.footer(kPullFooter);
  CLI::App& models =
      AddCommand(app, "models", "List the models that it can run, and where they are", Command::kModels, options);
  models.add_flag("--families", options.show_families, "A table of their families, in Markdown");
  models.footer(kModelsFooter);
  CLI::App& inspect = AddCommand(app, "inspect", "Tell what the files of a model hold", Command::kInspect, options);
  AddInspectOptions(inspect, options);
  inspect.footer(kInspectFooter);
  CLI::App& tokenize = AddCommand(app, "tokenize", "Show the tokens of a text", Command::kTokenize, options);
  AddTokenizeOptions(tokenize, options);
  tokenize.footer(kTokenizeFooter);
  for (CLI::App* const command : AddEncodingCommands(app, options)) AddLoadOptions(*command, options);
  CLI::App& pack =
      AddCommand(app, "pack", "Write a model down as it lies in memory, to start at once", Command::kPack, options);
  AddPackOptions(pack, options);
  pack.footer(kPackFooter);
  AddGgufCommands(app, options);
  CLI::App& bench = AddCommand(app, "bench", "Measure the speed of a model", Command::kBench, options);
  AddBenchOptions(bench, options);
  bench.footer(kBenchFooter);
  CLI::App& store =
      AddCommand(app, "store", "List, check and trim a folder of saved conversations", Command::kStore, options);
  AddStoreOptions(store, options);
  store.footer(kStoreFooter);
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app("Runs language models on the CPU.", "skald");
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kMainFooter);
  app.formatter(std::make_shared<HelpFormatter>());

  AddGenerate(app, options);
  AddChat(app, options);
  AddOthers(app, options);
  AddServe(app, options);
  AddDocumentCommands(app);

  try {
    auto arguments = AskingForHelp(app, WithLongNames({argv + 1, argv + argc}));
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(std::move(arguments));
    if (PrintDocument(app, kVersion)) return 0;
    if (app.get_subcommands().empty())
      throw CLI::RequiredError(
          "One of the commands generate, chat, serve, pull, models, inspect, tokenize, embed, rank, pack, convert, "
          "quantize, imatrix, bench, store, completion and man");
    SamplerSettings chosen;
    for (const SamplerChoice& choose : options.sampling) choose(chosen);
    const auto valid = ValidateSettings(chosen, std::numeric_limits<int32_t>::max());
    if (!valid) throw CLI::ValidationError(valid.error().message);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    Report(error.what());
    std::cerr << "Try 'skald --help'.\n";
    return kExitUsage;
  }
  for (const CLI::App* const command : app.get_subcommands()) {
    const CLI::Option* const threads = command->get_option_no_throw("--threads");
    options.chose_threads = threads != nullptr && threads->count() > 0;
  }
  if (!options.chose_seed) options.seed = std::random_device{}();
  options.show_progress |= isatty(STDERR_FILENO) == 1;
  return options;
}

}  // namespace skald::program
