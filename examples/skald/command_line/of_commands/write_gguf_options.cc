// SPDX-License-Identifier: Apache-2.0

#include "command_line/of_commands/write_gguf_options.h"

#include <string>

#include "command_line/shared/option_checks.h"
#include "command_line/shared/shared_options.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/weights/writing/mixture.h"

namespace skald::program {
namespace {

constexpr const char* kConvertFooter = R"(Examples:
  skald convert ~/qwen3-0.6b qwen3-0.6b.gguf
  skald convert ~/qwen3-0.6b qwen3-0.6b-f16.gguf --type f16
The file holds what the folder does: weights, tokenizer, chat template, advice
for sampling, prompts. Towers for pictures and heads that guess tokens are left
out, and named. It runs here and in llama.cpp; what cannot, is refused.)";

constexpr const char* kQuantizeFooter = R"(Examples:
  skald quantize qwen3-0.6b.gguf qwen3-0.6b-q4.gguf
  skald quantize ~/qwen3-0.6b qwen3-0.6b-q8.gguf --type q8_0
  skald quantize model.gguf small.gguf --type q3_k_m --output-type q8_0
Mixtures give parts of a model that suffer more from errors more bits, as
llama.cpp's do. Files of any architecture can be quantised, folders if the
family can be converted. 'skald generate --perplexity' tells what it costs.)";

constexpr const char* kImportanceFooter = R"(Examples:
  skald imatrix ~/qwen3-0.6b text.txt qwen3-0.6b.imatrix.gguf
  skald quantize ~/qwen3-0.6b small.gguf --type q3_k_m --imatrix qwen3-0.6b.imatrix.gguf
The model reads the text, and the file says how large the inputs of each column
of its matrices were: that is where 'skald quantize' keeps errors small. Texts
like those that the model is for do best; some 50 pieces are enough. llama.cpp
reads and writes such files too.)";

// Breaks lines after commas, at the width of the footers.
std::string Wrapped(const std::string& words) {
  constexpr size_t kWidth = 78;
  std::string text;
  size_t begin_of_line = 0;
  for (size_t begin = 0; begin < words.size();) {
    const size_t comma = words.find(',', begin);
    const size_t end = comma == words.npos ? words.size() : comma + 1;
    if (text.size() - begin_of_line + end - begin > kWidth) {
      text += '\n';
      begin_of_line = text.size();
      begin += words[begin] == ' ' ? 1 : 0;
    }
    text += words.substr(begin, end - begin);
    begin = end;
  }
  return text;
}

void AddModelFile(CLI::App& command, Options& options) {
  command.add_option("MODEL", options.model, "Folder or GGUF file with the model")->required()->type_name("");
}

void AddOutput(CLI::App& command, Options& options) {
  command.add_option("FILE", options.packed, "GGUF file to write")->required()->type_name("");
  command.add_option("-t,--threads", options.workspace.threads, "Threads that compute; they never change a result")
      ->check(Within(1, kMaxThreads))
      ->capture_default_str()
      ->type_name("N");
}

void AddImportanceCommand(CLI::App& app, Options& options) {
  CLI::App& command = AddCommand(app, "imatrix", "Measure which weights matter while a model reads a text",
                                 Command::kImportance, options);
  AddModelFile(command, options);
  ImportanceText& text = options.importance_text;
  command.add_option("TEXT", text.file, "File with the text; - is stdin")->required()->type_name("");
  AddOutput(command, options);
  command.add_option("--chunk-tokens", text.chunk_tokens, "Tokens of each piece, which is read by itself")
      ->check(Within(1, 1u << 20))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--chunks", text.chunks, "The first N pieces alone")->check(Within(1, UINT32_MAX))->type_name("N");
  command.footer(kImportanceFooter);
}

}  // namespace

void AddGgufCommands(CLI::App& app, Options& options) {
  CLI::App& convert = AddCommand(app, "convert", "Write a model as a GGUF file", Command::kWriteGguf, options);
  AddModelFile(convert, options);
  AddOutput(convert, options);
  convert.add_option("--type", options.gguf.type, "Of its matrices: bf16, f16 or f32 (default: the model's own)")
      ->check(CLI::IsMember({"bf16", "f16", "f32"}).description(""))
      ->type_name("TYPE");
  convert.footer(kConvertFooter);

  CLI::App& quantize =
      AddCommand(app, "quantize", "Write a model with fewer bits as a GGUF file", Command::kWriteGguf, options);
  AddModelFile(quantize, options);
  AddOutput(quantize, options);
  quantize
      .add_option_function<std::string>(
          "--type", [&options](const std::string& type) { options.gguf.type = type; },
          "Mixture of types, of those below (default: q4_k_m)")
      ->type_name("TYPE");
  quantize.preparse_callback([&options](size_t) { options.gguf.type = "q4_k_m"; });
  quantize.add_flag("--pure", options.gguf.pure, "The mixture's main type for all matrices");
  quantize.add_option("--output-type", options.gguf.output_type, "Of the output head")->type_name("TYPE");
  quantize.add_option("--embedding-type", options.gguf.embedding_type, "Of embeddings that are not the output head")
      ->type_name("TYPE");
  quantize.add_option("--imatrix", options.gguf.importance, "Which weights matter: a file of 'skald imatrix'")
      ->type_name("FILE");
  quantize.footer(kQuantizeFooter + ("\nThe mixtures, from the least bits to the most:\n" + Wrapped(MixtureNames())));
  AddImportanceCommand(app, options);
}

}  // namespace skald::program
