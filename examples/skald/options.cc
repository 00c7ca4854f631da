// SPDX-License-Identifier: Apache-2.0

#include "options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>
#include <system_error>

#include "skald/base/version.h"

namespace skald::program {
namespace {

// Lines short enough for every version of CLI11 to leave them as they are.
constexpr const char* kMainFooter = R"(Examples:
  skald generate
  skald generate --model ~/gemma-2-2b --prompt "Once upon a time"
  skald chat --model ~/gemma-2-2b-it
  skald chat --model tinyllama-1.1b-chat.gguf
Without --model there is a small demo model that writes like the King James
Bible. A model is a folder as Hugging Face publishes it: config.json,
model.safetensors (or its parts and their index) and tokenizer.model; or a GGUF
file. 'skald generate --help' and 'skald chat --help' list all options; 'skald
inspect' tells what a model's files hold; 'skald store' looks after folders in
which conversations were saved.)";

constexpr const char* kGenerateFooter = R"(Examples:
  skald generate --prompt "And it came to pass" --max-tokens 100
  skald generate --prompt-file story.txt --temperature 0 --no-echo
  skald generate --prompt-file manual.txt --prompt-cache ~/.cache/skald
  skald generate --model ~/llama-3.2-1b --token-ids 128000,9906
The text goes to stdout, all else to stderr. Ctrl-C ends the text. The closing
line tells the seed: with it, the same model and the same options, the same
text comes again, whatever the number of threads.)";

constexpr const char* kChatFooter = R"(Examples:
  skald chat --model ~/gemma-2-2b-it --system "Answer in one sentence."
  skald chat --model ~/tinyllama-chat --chat-template zephyr
  skald chat --session today.skald
In the chat, /undo takes back your last message and its answer, /clear forgets
everything, and /quit or Ctrl-D ends the chat. Ctrl-C ends an answer. When the
context is full the oldest turns are forgotten, but not the very first.
/save FILE writes the conversation to a file, /load FILE goes on from one,
/fork FILE goes on in a new file and leaves the present one as it is, and
/sessions lists the files beside it. With --session the file is read at the
start and written at the end; the same model must be running.)";

constexpr const char* kStoreFooter = R"(Examples:
  skald store ~/.cache/prompts
  skald store ~/.cache/prompts --verify
  skald store ~/.cache/prompts --prune 10GB
Without an option it lists the chunks, those first that were not used for the
longest time. Their columns: key, kind, bytes in the folder, bytes of content,
codec. A chunk with key abcd... is the file ab/abcd...; a damaged one may be
deleted, and is written again when it is next saved. The folder may be in use
meanwhile. Exit status: 1 if --verify finds damage.)";

constexpr const char* kInspectFooter = R"(Examples:
  skald inspect tinyllama-1.1b-chat.gguf
  skald inspect ~/gemma-2-2b-it
It prints the metadata, the Config that the model runs with or why there is
none, and the name, type, shape and size of every tensor. No weights are read.)";

// Reads all of `text` as a whole number.
template <class T>
std::optional<T> ParseInteger(std::string_view text) {
  T value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Accepts whole numbers from `least` to `most`.
CLI::Validator Within(uint64_t least, uint64_t most) {
  const auto check = [least, most](const std::string& text) {
    const auto value = ParseInteger<uint64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return "expected " + std::to_string(least) + " to " + std::to_string(most) + ", got " + text;
  };
  return CLI::Validator(check, "");
}

std::vector<std::string> TemplateNames() {
  std::vector<std::string> names;
  for (const auto& [name, chat_template] : kChatTemplateNames) names.emplace_back(name);
  return names;
}

const std::string kVersion = "skald " + std::to_string(SKALD_VERSION_MAJOR) + "." +
                             std::to_string(SKALD_VERSION_MINOR) + "." + std::to_string(SKALD_VERSION_PATCH);

LogitBias ParseLogitBias(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const auto token = ParseInteger<int32_t>(std::string_view(text).substr(0, equals));
  const char* const number = text.c_str() + std::min(equals + 1, text.size());
  char* end = nullptr;
  const float bias = std::strtof(number, &end);
  if (token && *token >= 0 && end != number && *end == '\0') return {*token, bias};
  throw CLI::ValidationError("--logit-bias", "expected ID=VALUE, got " + text);
}

void AddModelOptions(CLI::App& command, const char* default_template, Options& options) {
  const char* const group = "Model";
  command.add_option("-m,--model", options.model, "Folder or GGUF file with the model (default: the demo model)")
      ->type_name("PATH")
      ->group(group);
  command
      .add_option("--tokenizer", options.tokenizer,
                  "SentencePiece model (default: tokenizer.model in the\nfolder, or what the GGUF file holds)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--chat-template",
          [&options](const std::string& name) { options.chat_template = *ChatTemplateFromName(name); },
          std::string("How messages become a prompt (default: ") + default_template + ")")
      ->check(CLI::IsMember(TemplateNames()))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option(
          "--max-context", options.max_context,
          "Most tokens of the whole conversation (default: what the\nmodel was trained on, at most 8192)")
      ->check(Within(1, kMaxTokens))
      ->type_name("N")
      ->group(group);
}

void AddRuntimeOptions(CLI::App& command, Options& options) {
  const char* const group = "Running";
  RuntimeConfig& runtime = options.runtime;
  command.add_option("-t,--threads", runtime.threads, "Threads that compute; they never change a result")
      ->check(Within(1, kMaxThreads))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_flag_callback(
          "--f32", [&options] { options.weight_type = options.runtime.kv_type = DType::kF32; },
          "Weights and cache in float32 instead of bfloat16: exact,\nbut slower and twice the memory")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--kv-type",
          [&runtime](const std::string& name) {
            runtime.kv_type = name == "f32" ? DType::kF32 : DType::kBF16;
          },
          "Element type of the cache alone")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->type_name("TYPE")
      ->group(group);
  command
      .add_option("--cache-bytes", runtime.cache_bytes,
                  "Memory limit of the cache: 500000, 64MB, 2GB (default: none)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true).description(""))
      ->check(Within(1, kUnlimited))
      ->type_name("SIZE")
      ->group(group);
  command
      .add_flag("--progress", options.show_progress,
                "Show how loading proceeds even if stderr is no terminal")
      ->group(group);
}

void AddSamplingOptions(CLI::App& command, Options& options) {
  SamplerSettings& sampler = options.sampler;
  const char* const group = "Sampling";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str()->type_name("X")->group(group);
  };
  add("-n,--max-tokens", options.max_tokens, "Most tokens of one text or answer")
      ->check(Within(1, kMaxTokens));
  add("--temperature", sampler.temperature, "Below 1 tamer, above 1 wilder; 0 is greedy");
  add("--top-k", sampler.top_k, "Only the X most likely tokens; 0 for all")->check(Within(0, kMaxTokens));
  add("--top-p", sampler.top_p, "Only the most likely tokens, X of all probability");
  add("--min-p", sampler.min_p, "Only tokens at least X times as likely as the likeliest");
  add("--repetition-penalty", sampler.repetition_penalty, "Logits of recent tokens are divided by X");
  add("--presence-penalty", sampler.presence_penalty, "X is taken from logits of recent tokens");
  add("--frequency-penalty", sampler.frequency_penalty, "The same, for each occurrence");
  add("--penalty-window", sampler.penalty_window, "How many tokens count as recent")
      ->check(Within(0, kMaxTokens));
  command
      .add_option_function<std::vector<std::string>>(
          "--logit-bias",
          [&sampler](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) sampler.logit_bias.push_back(ParseLogitBias(text));
          },
          "Added to a token's logit; -inf bans the token. Repeatable")
      ->type_name("ID=VALUE")
      ->type_size(1)
      ->group(group);
  command.add_option("--seed", options.seed, "Makes a text repeatable (default: a random one)")
      ->check(Within(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->group(group);
}

void AddPromptOptions(CLI::App& command, Options& options) {
  const char* const group = "Prompt";
  command.add_option("-p,--prompt", options.prompt, "Text to continue (the demo model has a default)")
      ->type_name("TEXT")
      ->group(group);
  command.add_option("--prompt-file", options.prompt_file, "The same, from a file; - is stdin")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--token-ids", options.token_ids,
                  "The same, as ids: 1,2,3. What follows is printed as ids too")
      ->delimiter(',')
      ->type_name("ID")
      ->group(group);
  command
      .add_option("--prompt-cache", options.prompt_cache,
                  "Folder that keeps computed prompts: one that begins\nlike an earlier one starts where they part")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag_callback(
          "--no-echo", [&options] { options.echo = false; }, "Print only what is new, not the prompt")
      ->group(group);
  command.parse_complete_callback([&options] {
    if (options.prompt.has_value() + options.prompt_file.has_value() + !options.token_ids.empty() > 1) {
      throw CLI::ValidationError("give only one of --prompt, --prompt-file and --token-ids");
    }
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
  CLI::App app("Runs decoder language models on the CPU.", "skald");
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kMainFooter);

  CLI::App& generate = *app.add_subcommand("generate", "Continue a text");
  AddPromptOptions(generate, options);
  AddModelOptions(generate, "none", options);
  generate.footer(kGenerateFooter);

  CLI::App& chat = *app.add_subcommand("chat", "Talk with a model");
  chat.add_option("--session", options.session, "File to go on from, and to keep the conversation in")
      ->type_name("FILE")
      ->group("Prompt");
  chat.add_option("--system", options.system, "What the model is told before the first message")
      ->type_name("TEXT")
      ->group("Prompt");
  AddModelOptions(chat, "what the model suggests", options);
  chat.footer(kChatFooter);

  for (CLI::App* command : {&generate, &chat}) {
    AddSamplingOptions(*command, options);
    AddRuntimeOptions(*command, options);
  }
  CLI::App& models = *app.add_subcommand("models", "List the models that it can run");
  CLI::App& inspect = *app.add_subcommand("inspect", "Tell what the files of a model hold");
  inspect.add_option("PATH", options.model, "Folder, safetensors file, index of shards or GGUF file")
      ->required()
      ->type_name("");
  inspect.footer(kInspectFooter);
  CLI::App& store = *app.add_subcommand("store", "List, check and trim a folder of saved conversations");
  AddStoreOptions(store, options);
  store.footer(kStoreFooter);

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      throw CLI::RequiredError("One of the commands generate, chat, models, inspect and store");
    const auto valid = ValidateSettings(options.sampler, std::numeric_limits<int32_t>::max());
    if (!valid) throw CLI::ValidationError(valid.error().message);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "skald: %s\nTry 'skald --help'.\n", error.what());
    return kExitUsage;
  }
  if (chat.parsed()) options.command = Command::kChat;
  if (models.parsed()) options.command = Command::kModels;
  if (inspect.parsed()) options.command = Command::kInspect;
  if (store.parsed()) options.command = Command::kStore;
  options.sampler.random.seed = options.seed.value_or(std::random_device{}());
  options.show_progress |= isatty(STDERR_FILENO) == 1;
  return options;
}

}  // namespace skald::program
