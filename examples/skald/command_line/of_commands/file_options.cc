// SPDX-License-Identifier: Apache-2.0

#include "command_line/of_commands/file_options.h"

#include <limits>
#include <utility>

#include "command_line/shared/hub_options.h"
#include "command_line/shared/option_checks.h"
#include "command_line/shared/running_options.h"
#include "command_line/shared/shared_options.h"

namespace skald::program {

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

}  // namespace skald::program
