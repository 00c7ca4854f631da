// SPDX-License-Identifier: Apache-2.0

#include "command_line/shared/model_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/shared/hub_options.h"
#include "command_line/shared/option_checks.h"
#include "skald/templates/built_in.h"

namespace skald::program {
namespace {

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

}  // namespace

CLI::Option* AddModelPath(CLI::App& command, Options& options) {
  return command.add_option("-m,--model", options.model, "Folder or file with the model (default: the demo model)")
      ->type_name("PATH")
      ->group("Model");
}

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

}  // namespace skald::program
