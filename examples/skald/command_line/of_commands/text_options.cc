// SPDX-License-Identifier: Apache-2.0

#include "command_line/of_commands/text_options.h"

#include "command_line/shared/option_checks.h"
#include "command_line/shared/shared_options.h"

namespace skald::program {
namespace {

void AddPromptOptions(CLI::App& command, Options& options) {
  const char* const group = "Prompt";
  command.add_option("-p,--prompt", options.prompt, "Text to continue (the demo model has a default)")
      ->type_name("TEXT")
      ->group(group);
  command.add_option("--prompt-file", options.prompt_file, "The same, from a file; - is stdin")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--token-ids", options.token_ids, "The same, as ids: 1,2,3. What follows is printed as ids too")
      ->delimiter(',')
      ->check(Given())
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
  command
      .add_option("--prompts", options.texts.prompts,
                  "Many of them, a prompt each line, computed together; in a\n.jsonl file lines of JSON: texts, or "
                  "objects with \"prompt\"")
      ->type_name("FILE")
      ->group(group);
}

void AddFormOptions(CLI::App& command, Options& options) {
  const char* const group = "Texts";
  TextOptions& texts = options.texts;
  command.add_option("--samples", texts.samples, "Texts for each prompt, which is computed once")
      ->check(Within(1, 1024))
      ->type_name("N")
      ->group(group);
  command.add_option("--stop", texts.stop, "Text that ends one and is not part of it. Repeatable")
      ->check(Given())
      ->type_name("TEXT")
      ->type_size(1)
      ->group(group);
  CLI::Option* const grammar =
      command.add_option("--grammar", texts.grammar, "File with a grammar (GBNF) that a text must follow")
          ->type_name("FILE")
          ->group(group);
  command.add_option("--json-schema", texts.schema, "File with a JSON Schema that a text must fit")
      ->type_name("FILE")
      ->excludes(grammar)
      ->group(group);
  AddDraftOptions(command, "Running", options.draft, nullptr);
  command.add_flag("--json", texts.json, "A line of JSON for each text: text, tokens, why it ended")->group(group);
  command
      .add_option("--logprobs", texts.logprobs,
                  "In that JSON, log-probabilities of each token and of the N\nmost likely ones in its place")
      ->check(Within(0, 1000))
      ->type_name("N")
      ->group(group);
  command
      .add_option("--embed", texts.embedding,
                  "No text, but the vector of each prompt: that of its last\ntoken, or the mean of all")
      ->check(CLI::IsMember({"last", "mean"}))
      ->type_name("POOLING")
      ->group(group);
  command
      .add_option(
          "--perplexity", texts.perplexity,
          "No text, but how well the model foretells the file's, in\nwindows of --max-context tokens (default: 512)")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void AddTextOptions(CLI::App& command, Options& options) {
  AddPromptOptions(command, options);
  AddFormOptions(command, options);
  command.parse_complete_callback([&options] {
    const TextOptions& texts = options.texts;
    const int prompts = options.prompt.has_value() + options.prompt_file.has_value() + !options.token_ids.empty() +
                        texts.prompts.has_value() + texts.perplexity.has_value();
    if (prompts > 1) {
      throw CLI::ValidationError("give only one of --prompt, --prompt-file, --prompts, --token-ids and --perplexity");
    }
    if (texts.any() && options.prompt_cache) {
      throw CLI::ValidationError("--prompt-cache is for one text, without --stop, --json and the like");
    }
    if (!texts.embedding.empty() && (texts.samples > 1 || !texts.stop.empty() || texts.grammar || texts.schema)) {
      throw CLI::ValidationError(
          "--embed writes no text, so that --samples, --stop, --grammar and --json-schema have no meaning");
    }
    if (options.texts.logprobs) options.texts.json = true;
  });
}

}  // namespace skald::program
