// SPDX-License-Identifier: Apache-2.0

#include "command_line/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "command_line/bench_options.h"
#include "command_line/documents/document_commands.h"
#include "command_line/documents/help_formatter.h"
#include "command_line/encoding_options.h"
#include "command_line/help_footers.h"
#include "command_line/hub_options.h"
#include "command_line/option_checks.h"
#include "command_line/serve_options.h"
#include "command_line/shared_options.h"
#include "command_line/text_options.h"
#include "command_line/write_gguf_options.h"
#include "skald/base/version.h"
#include "skald/open/conversation.h"
#include "skald/templates/built_in.h"
#include "terminal/messages.h"
#include "user_folders.h"

namespace skald::program {
namespace {

const std::string kVersion = "skald " + std::to_string(SKALD_VERSION_MAJOR) + "." +
                             std::to_string(SKALD_VERSION_MINOR) + "." + std::to_string(SKALD_VERSION_PATCH);

LogitBias ParseLogitBias(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const auto token = ParseNumber<int32_t>(std::string_view(text).substr(0, equals));
  const char* const number = text.c_str() + std::min(equals + 1, text.size());
  char* end = nullptr;
  const float bias = std::strtof(number, &end);
  if (token && *token >= 0 && end != number && *end == '\0') return {*token, bias};
  throw CLI::ValidationError("--logit-bias", "expected ID=VALUE, got " + text);
}

CLI::Option* AddModelPath(CLI::App& command, Options& options) {
  return command.add_option("-m,--model", options.model, "Folder or file with the model (default: the demo model)")
      ->type_name("PATH")
      ->group("Model");
}

// `path` is the option that names the model's path.
void AddModelOptions(CLI::App& command, CLI::Option* path, const char* default_template, Options& options) {
  const char* const group = "Model";
  AddHub(command, path, options);
  command
      .add_option("--tokenizer", options.tokenizer,
                  "SentencePiece model (default: tokenizer.model in the\nfolder, or what the file holds)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--chat-template", options.chat_template,
                  std::string("How messages become a prompt (default: ") + default_template + ")")
      ->check(CLI::IsMember(BuiltInTemplateNames()))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--max-context", options.max_context,
                  "Most tokens of the whole conversation (default: what the\nmodel was trained on, as far as 2 GiB "
                  "hold its keys and\nvalues; to serve as far as --cache-bytes does)")
      ->check(Within(1, kMaxTokens))
      ->type_name("N")
      ->group(group);
}

void AddAdapterOption(CLI::App& command, Options& options) {
  command
      .add_option("--adapter", options.adapter,
                  "LoRA adapter for the model: a folder of Hugging Face's\nPEFT, or a GGUF file")
      ->type_name("PATH")
      ->group("Model");
}

// FILE or FILE:SCALE.
std::pair<std::filesystem::path, float> ParseControlVector(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, 1.0f};
  const char* const number = text.c_str() + colon + 1;
  char* end = nullptr;
  const float scale = std::strtof(number, &end);
  if (end == number || *end != '\0') return {text, 1.0f};  // a colon of the path
  if (std::isfinite(scale)) return {text.substr(0, colon), scale};
  throw CLI::ValidationError("--control-vector", "expected FILE or FILE:SCALE with a finite number, got " + text);
}

// N or FIRST-LAST.
void ParseLayers(const std::string& text, SteeringOptions& steering) {
  const size_t dash = std::min(text.find('-'), text.size());
  const auto first = ParseNumber<uint64_t>(std::string_view(text).substr(0, dash));
  const auto last = dash == text.size() ? first : ParseNumber<uint64_t>(std::string_view(text).substr(dash + 1));
  if (!first || !last || *last < *first) {
    throw CLI::ValidationError("--control-vector-layers", "expected N or FIRST-LAST, got " + text);
  }
  steering.first_layer = *first;
  steering.last_layer = last;
}

void AddSteeringOptions(CLI::App& command, Options& options) {
  SteeringOptions& steering = options.steering;
  CLI::Option* const vectors =
      command
          .add_option_function<std::vector<std::string>>(
              "--control-vector",
              [&steering](const std::vector<std::string>& texts) {
                for (const std::string& text : texts) steering.vectors.push_back(ParseControlVector(text));
              },
              "GGUF file with a control vector: what is added to the\nresidual stream, times SCALE (default: 1). "
              "Repeatable")
          ->type_name("FILE[:SCALE]")
          ->type_size(1)
          ->group("Model");
  command
      .add_option_function<std::string>(
          "--control-vector-layers", [&steering](const std::string& text) { ParseLayers(text, steering); },
          "Layers after which control vectors are added, counted from 0\n(default: all that the files have one for)")
      ->needs(vectors)
      ->type_name("FIRST-LAST")
      ->group("Model");
}

CLI::Option* AddDType(CLI::App& command, Options& options) {
  return command
      .add_option_function<std::string>(
          "--dtype", [&options](const std::string& name) { options.weight_type = ParseDType(name); },
          "Type of the weights in memory: q8_0 takes about half of bf16's,\nq4_0 a quarter, and both are faster")
      ->check(CLI::IsMember({"bf16", "f32", "q8_0", "q4_0"}))
      ->type_name("TYPE");
}

void AddLoadOptions(CLI::App& command, Options& options) {
  const char* const group = "Running";
  command.add_option("-t,--threads", options.workspace.threads, "Threads that compute; they never change a result")
      ->check(Within(1, kMaxThreads))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  AddDType(command, options)->group(group);
  command
      .add_flag_callback(
          "--f32", [&options] { options.weight_type = options.runtime.kv_type = DType::kF32; },
          "Weights and cache in float32 instead of bfloat16: exact,\nbut slower and twice the memory")
      ->group(group);
  command.add_flag("--progress", options.show_progress, "Show how loading proceeds even if stderr is no terminal")
      ->group(group);
}

void AddRuntimeOptions(CLI::App& command, const std::string& default_cache, Options& options) {
  const char* const group = "Running";
  RuntimeConfig& runtime = options.runtime;
  if (const auto folder = UserCacheFolder(); !folder.empty()) options.packed_cache = folder / "skald" / "packed";
  command
      .add_option("--packed-cache", options.packed_cache,
                  "Folder that keeps weights as they lie in memory: the next\nstart with the same model is instant"
                  " (default: skald/packed\nin the user's cache folder, ~/.cache)")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--packed-cache-size", options.packed_cache_bytes,
                  "The most that it may take; models that were used longest\nago make room (default: 20GB)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited))
      ->type_name("SIZE")
      ->group(group);
  command
      .add_flag_callback(
          "--no-packed-cache", [&options] { options.packed_cache.clear(); }, "Pack the weights anew, and keep nothing")
      ->group(group);
  AddKvType(command, runtime.kv_type)->group(group);
  command
      .add_option("--cache-bytes", runtime.cache_bytes,
                  "Memory limit of the cache: 500000, 64MB, 2GB (default:\n" + default_cache + ")")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited))
      ->type_name("SIZE")
      ->group(group);
}

// How tokens are drawn.
void AddSamplerOptions(CLI::App& command, Options& options) {
  const char* const group = "Sampling";
  const auto add = [&]<class T>(const char* name, T SamplerSettings::*member, const char* help) {
    const auto choose = [&options, member](const T& value) {
      options.sampling.push_back([member, value](SamplerSettings& sampler) { sampler.*member = value; });
    };
    return command.add_option_function<T>(name, choose, help)->check(Given())->type_name("X")->group(group);
  };
  using Settings = SamplerSettings;
  add("--temperature", &Settings::temperature,
      "Below 1 tamer, above 1 wilder; 0 is greedy. The default\nof this and"
      " of the next four is what the model's\ngeneration_config.json advises, else 0.8, 40, 0.95, 0, 1");
  add("--top-k", &Settings::top_k, "Only the X most likely tokens; 0 for all")->check(Within(0, kMaxTokens));
  add("--top-p", &Settings::top_p, "Only the most likely tokens, X of all probability");
  add("--min-p", &Settings::min_p, "Only tokens at least X times as likely as the likeliest");
  add("--repetition-penalty", &Settings::repetition_penalty, "Logits of recent tokens are divided by X");
  add("--presence-penalty", &Settings::presence_penalty, "X is taken from logits of recent tokens (default: 0)");
  add("--frequency-penalty", &Settings::frequency_penalty, "The same, for each occurrence (default: 0)");
}

void AddSeedOption(CLI::App& command, const char* help, Options& options) {
  const auto choose = [&options](uint64_t seed) {
    options.seed = seed;
    options.chose_seed = true;
  };
  command.add_option_function<uint64_t>("--seed", choose, help)
      ->check(Within(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->group("Sampling");
}

void AddSamplingOptions(CLI::App& command, Options& options) {
  const char* const group = "Sampling";
  command
      .add_option("-n,--max-tokens", options.max_tokens,
                  "Most tokens of one text or answer (default: of a text " + std::to_string(kTextTokens) +
                      ", of an\nanswer as many as the context has room for)")
      ->check(Within(1, kMaxTokens))
      ->type_name("X")
      ->group(group);
  AddSamplerOptions(command, options);
  command
      .add_option_function<size_t>(
          "--penalty-window",
          [&options](size_t tokens) {
            options.sampling.push_back([tokens](SamplerSettings& sampler) { sampler.penalty_window = tokens; });
          },
          "How many tokens count as recent (default: 64)")
      ->check(Given())
      ->check(Within(0, kMaxTokens))
      ->type_name("X")
      ->group(group);
  command
      .add_option_function<std::vector<std::string>>(
          "--logit-bias",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              options.sampling.push_back(
                  [bias = ParseLogitBias(text)](SamplerSettings& sampler) { sampler.logit_bias.push_back(bias); });
            }
          },
          "Added to a token's logit; -inf bans the token. Repeatable")
      ->type_name("ID=VALUE")
      ->type_size(1)
      ->group(group);
  AddSeedOption(command, "Makes a text repeatable (default: a random one)", options);
}

void AddInspectOptions(CLI::App& command, Options& options) {
  CLI::Option* const path = command
                                .add_option("PATH", options.model,
                                            "Folder, safetensors file, index of shards, GGUF file or packed\nfile; with"
                                            " --ranks also one of 'skald models'")
                                ->type_name("");
  const CLI::Option* const hub = AddHub(command, path, options);
  command.parse_complete_callback([path, hub] {
    if (path->empty() && hub->empty()) throw CLI::RequiredError("PATH");
  });
  CLI::Option* const config = command.add_flag("--config", options.only_config,
                                               "Print only the model's Config, as C++ to paste into a program");
  CLI::Option* const ranks =
      command
          .add_option("--ranks", options.inspect_ranks,
                      "Print only the memory that each of N ranks takes: weights, and\nthe state of a conversation")
          ->check(Within(1, 4096))
          ->type_name("N")
          ->excludes(config);
  command.add_option("--tokens", options.inspect_tokens, "Tokens of that conversation")
      ->check(Within(1, kMaxTokens))
      ->capture_default_str()
      ->type_name("N")
      ->needs(ranks);
  AddDType(command, options)->needs(ranks);
  AddKvType(command, options.runtime.kv_type)->needs(ranks);
}

void AddTokenizeOptions(CLI::App& command, Options& options) {
  CLI::Option* const path =
      command.add_option("-m,--model", options.model, "Folder or file with the model (default: the demo model)")
          ->type_name("PATH");
  AddHub(command, path, options);
  command.add_option("--tokenizer", options.tokenizer, "Only a tokenizer: tokenizer.json, tokenizer.model, GGUF file")
      ->type_name("FILE");
  CLI::Option* const text = command.add_option("TEXT", options.prompt, "Text (default: standard input)")->type_name("");
  command.add_option("-f,--prompt-file", options.prompt_file, "Text from a file; - is stdin")
      ->type_name("FILE")
      ->excludes(text);
  command.add_option("--token-ids", options.token_ids, "Ids to look up instead of a text: 1,2,3")
      ->delimiter(',')
      ->check(Given())
      ->type_name("ID")
      ->excludes(text);
  command.add_flag("--parse-special", options.parse_special, "Names of special tokens in the text are these tokens");
  command.add_flag("--add-special", options.add_special, "With what goes around a text, such as BOS");
  command.add_flag("--ids", options.only_ids, "Only the ids, as 'skald generate --token-ids' takes them");
}

void AddPackOptions(CLI::App& command, Options& options) {
  CLI::Option* const model =
      command.add_option("MODEL", options.model, "Folder or file with the model, unless -hf names it")->type_name("");
  CLI::Option* const file = command.add_option("FILE", options.packed, "File to write")->type_name("");
  CLI::Option* const hub = AddHub(command, nullptr, options);
  command.add_option("--verify", options.packed, "Only read FILE, which was packed before, and check all of it")
      ->each([&options](const std::string&) { options.verify = true; })
      ->type_name("FILE")
      ->excludes(model)
      ->excludes(hub);
  AddLoadOptions(command, options);
  command.parse_complete_callback([&options, model, file, hub] {
    if (!hub->empty() && !file->empty()) throw CLI::ExcludesError("-hf", "MODEL");
    if (!hub->empty() && !model->empty())
      options.packed = std::exchange(options.model, {});  // the one path that there is
    if (!model->empty() && options.packed.empty()) throw CLI::RequiresError("MODEL", "FILE");
    if (options.packed.empty()) throw CLI::RequiredError("MODEL and FILE, or --verify FILE");
  });
}

void AddStoreOptions(CLI::App& command, Options& options) {
  command.add_option("DIR", options.store, "Folder with the chunks")->required()->type_name("");
  command.add_flag("--verify", options.verify, "Read every chunk and report the damaged ones");
  command
      .add_option("--prune", options.prune_bytes,
                  "Drop chunks, the least recently used first, until they\n"
                  "have at most so many bytes: 500000, 64MB, 2GB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(0, std::numeric_limits<int64_t>::max()))  // CLI11 reads -1 as a very large number
      ->type_name("SIZE");
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app("Runs language models on the CPU.", "skald");
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kMainFooter);
  app.formatter(std::make_shared<HelpFormatter>());

  CLI::App& generate = *app.add_subcommand("generate", "Continue a text");
  AddTextOptions(generate, options);
  AddModelOptions(generate, AddModelPath(generate, options), "none", options);
  AddAdapterOption(generate, options);
  AddSteeringOptions(generate, options);
  generate.footer(kGenerateFooter);

  CLI::App& chat = *app.add_subcommand("chat", "Talk with a model")->alias("run");
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

  for (CLI::App* command : {&generate, &chat}) {
    AddSamplingOptions(*command, options);
    AddLoadOptions(*command, options);
    AddRanks(*command, options, "Running");
    AddRuntimeOptions(*command, "none", options);
  }
  CLI::App& pull = *app.add_subcommand("pull", "Download a model from the hub, and print where it is");
  AddPullOptions(pull, options);
  pull.footer(kPullFooter);
  CLI::App& models = *app.add_subcommand("models", "List the models that it can run, and where they are");
  models.add_flag("--families", options.show_families, "A table of their families, in Markdown");
  models.footer(kModelsFooter);
  CLI::App& inspect = *app.add_subcommand("inspect", "Tell what the files of a model hold");
  AddInspectOptions(inspect, options);
  inspect.footer(kInspectFooter);
  CLI::App& tokenize = *app.add_subcommand("tokenize", "Show the tokens of a text");
  AddTokenizeOptions(tokenize, options);
  tokenize.footer(kTokenizeFooter);
  for (CLI::App* const command : AddEncodingCommands(app, options)) AddLoadOptions(*command, options);
  CLI::App& pack = *app.add_subcommand("pack", "Write a model down as it lies in memory, to start at once");
  AddPackOptions(pack, options);
  pack.footer(kPackFooter);
  AddGgufCommands(app, options);
  CLI::App& bench = *app.add_subcommand("bench", "Measure the speed of a model");
  AddBenchOptions(bench, options);
  bench.footer(kBenchFooter);
  CLI::App& store = *app.add_subcommand("store", "List, check and trim a folder of saved conversations");
  AddStoreOptions(store, options);
  store.footer(kStoreFooter);

  CLI::App& serve = *app.add_subcommand("serve", "Serve models over HTTP: OpenAI's and Anthropic's APIs, and a page");
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
  if (chat.parsed()) options.command = Command::kChat;
  if (pull.parsed()) options.command = Command::kPull;
  if (models.parsed()) options.command = Command::kModels;
  if (inspect.parsed()) options.command = Command::kInspect;
  if (tokenize.parsed()) options.command = Command::kTokenize;
  if (pack.parsed()) options.command = Command::kPack;
  if (bench.parsed()) options.command = Command::kBench;
  if (store.parsed()) options.command = Command::kStore;
  if (serve.parsed()) options.command = Command::kServe;
  for (const CLI::App* const command : app.get_subcommands()) {
    const CLI::Option* const threads = command->get_option_no_throw("--threads");
    options.chose_threads = threads != nullptr && threads->count() > 0;
  }
  if (!options.chose_seed) options.seed = std::random_device{}();
  options.show_progress |= isatty(STDERR_FILENO) == 1;
  return options;
}

}  // namespace skald::program
