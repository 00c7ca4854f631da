// SPDX-License-Identifier: Apache-2.0

#include "command_line/of_commands/encoding_options.h"

#include <map>
#include <string>
#include <utility>

#include "command_line/shared/hub_options.h"
#include "command_line/shared/option_checks.h"
#include "command_line/shared/shared_options.h"

namespace skald::program {
namespace {

constexpr const char* kEmbedFooter = R"(Examples:
  skald embed ~/all-minilm-l6-v2 texts.txt > vectors.jsonl
  skald embed ~/embeddinggemma-300m -o vectors.npy --prompt-name document < texts.txt
  skald embed ~/bge-m3 --long windows --whole chapter1.txt chapter2.txt
A line of JSON for each text: its number, its tokens and its embedding. A file
whose name ends with .npy gets an array [texts, dimension], as numpy reads it. A
text has the same embedding, to the bit, whatever stands beside it, and however
many threads compute. Texts that are too long are an error unless --long says
what becomes of them.)";

constexpr const char* kRankFooter = R"(Examples:
  skald rank ~/bge-reranker-v2-m3 "What is a fork?" documents.txt
  grep -r fork docs | skald rank ~/all-minilm-l6-v2 "What is a fork?" --top 5
The documents, the one that fits the query best first: its score, the number of
its line from 0 on, and itself. Documents of equal scores stay in their order. A
reranker scores each pair of texts; of other models the score is the cosine of
the embeddings of query and document.)";

// The model by its path, or by its name on the hub: then all other words are what follows it.
CLI::Option* AddModel(CLI::App& command, Options& options) {
  return command.add_option("-m,--model", options.model, "Folder or file with the model")->type_name("PATH");
}

void AddLongText(CLI::App& command, const char* what, LongText& choice) {
  static const std::map<std::string, LongText> kChoices = {
      {"error", LongText::kRefuse}, {"windows", LongText::kWindows}, {"cut", LongText::kCut}};
  command
      .add_option_function<std::string>(
          "--long", [&choice](const std::string& name) { choice = kChoices.at(name); },
          std::string(what) +
              " that are longer than the model takes: an\nerror, pieces one after the other, or without "
              "their ends (default:\nerror)")
      ->check(CLI::IsMember({"error", "windows", "cut"}))
      ->type_name("CHOICE")
      ->group("Texts");
}

void AddFiles(CLI::App& command, const char* what, Options& options) {
  command.add_option("FILE", options.encoding.files, what)->type_name("");
}

void AddEmbeddingOptions(CLI::App& command, EncodingOptions& encoding) {
  const char* const group = "Embeddings";
  command.add_flag("--whole", encoding.whole_files, "Each file is one text")->group("Texts");
  CLI::Option* const named = command
                                 .add_option("--prompt-name", encoding.prompt_name,
                                             "Which of the model's prompts goes before texts, such as query\nor "
                                             "document (default: the one that its files name, if any)")
                                 ->type_name("NAME")
                                 ->group("Texts");
  command.add_option("--prompt", encoding.prompt, "Text that goes before each text; may be empty")
      ->excludes(named)
      ->type_name("TEXT")
      ->group("Texts");
  command
      .add_option("--pooling", encoding.pooling,
                  "How a text's tokens become one embedding: mean, cls, last,\nweighted, max (default: as the model's "
                  "files say)")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--dimensions", encoding.dimension, "Only the first N elements, of models that were trained for it")
      ->check(Within(1, 1 << 24))
      ->type_name("N")
      ->group(group);
  CLI::Option* const normalise = command
                                     .add_flag_callback(
                                         "--normalize", [&encoding] { encoding.normalise = true; },
                                         "Embeddings have the length 1 (default: as the model's files\nsay)")
                                     ->group(group);
  command
      .add_flag_callback(
          "--no-normalize", [&encoding] { encoding.normalise = false; }, "They have the length that they come with")
      ->excludes(normalise)
      ->group(group);
  static const std::map<std::string, EmbeddingForm> kForms = {
      {"float", EmbeddingForm::kFloat}, {"int8", EmbeddingForm::kInt8}, {"binary", EmbeddingForm::kBinary}};
  command
      .add_option_function<std::string>(
          "--form", [&encoding](const std::string& name) { encoding.form = kForms.at(name); },
          "Of numbers: float, int8 with a scale for each embedding, or\nbinary, a bit for each element (default: "
          "float)")
      ->check(CLI::IsMember({"float", "int8", "binary"}))
      ->type_name("FORM")
      ->group(group);
  command.add_option("-o,--output", encoding.output, "File to write; .npy is an array (default: standard output)")
      ->type_name("FILE")
      ->group(group);
}

void AddRankingOptions(CLI::App& command, EncodingOptions& encoding) {
  const char* const group = "Ranking";
  command.add_option("--top", encoding.most_documents, "Only the best N documents")
      ->check(Within(1, 1 << 30))
      ->type_name("N")
      ->group(group);
  command.add_option("--instruction", encoding.instruction, "What makes a document fit, for rerankers that read it")
      ->type_name("TEXT")
      ->group(group);
  command
      .add_flag("--yes-or-no", encoding.by_yes_or_no,
                "The model is a decoder that answers yes or no, as\nQwen3-Reranker does, whose files do not say it")
      ->group(group);
  command.add_flag("--raw", encoding.raw_scores, "Scores as a reranker's head gives them, not between 0 and 1")
      ->group(group);
  command.add_flag("--json", encoding.json, "A line of JSON for each document: index, score, text")->group(group);
}

// Without --model and -hf the first word is the model's path.
bool NamesModel(const CLI::App& command) {
  return command.get_option("--model")->count() > 0 || command.get_option("--hf")->count() > 0;
}

std::string TakeFirst(std::vector<std::filesystem::path>& words) {
  std::string first = words.front().string();
  words.erase(words.begin());
  return first;
}

}  // namespace

std::vector<CLI::App*> AddEncodingCommands(CLI::App& app, Options& options) {
  EncodingOptions& encoding = options.encoding;
  CLI::App& embed = AddCommand(app, "embed", "Write embeddings of texts", Command::kEmbed, options);
  AddHub(embed, AddModel(embed, options), options);
  AddFiles(embed,
           "MODEL, unless --model or -hf names it, and files with a text in\neach line (default: standard input)",
           options);
  AddEmbeddingOptions(embed, encoding);
  AddLongText(embed, "Texts", encoding.long_text);
  embed.footer(kEmbedFooter);
  embed.parse_complete_callback([&embed, &options, &encoding] {
    if (NamesModel(embed)) return;
    if (encoding.files.empty()) throw CLI::RequiredError("MODEL");
    options.model = TakeFirst(encoding.files);
  });

  CLI::App& rank = AddCommand(app, "rank", "Order documents by how well they fit a query", Command::kRank, options);
  AddHub(rank, AddModel(rank, options), options);
  AddFiles(rank,
           "MODEL, unless --model or -hf names it, QUERY, and files with a\ndocument in each line (default: "
           "standard input)",
           options);
  AddRankingOptions(rank, encoding);
  AddLongText(rank, "Documents", encoding.long_text);
  rank.footer(kRankFooter);
  rank.parse_complete_callback([&rank, &options, &encoding] {
    const bool has_model = NamesModel(rank);
    if (encoding.files.size() < (has_model ? 1 : 2)) throw CLI::RequiredError(has_model ? "QUERY" : "MODEL and QUERY");
    if (!has_model) options.model = TakeFirst(encoding.files);
    encoding.query = TakeFirst(encoding.files);
  });
  return {&embed, &rank};
}

}  // namespace skald::program
