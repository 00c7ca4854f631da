// SPDX-License-Identifier: Apache-2.0

#include "texts/prompts.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

// A line of JSON: a text, or an object with a text "prompt".
Result<std::string> PromptOfJson(std::string_view line) {
  nlohmann::json value;
  const bool is_json = internal::ParseJson(line, value).empty();
  if (is_json && value.is_object() && value.contains("prompt") && value["prompt"].is_string()) {
    return value["prompt"].get<std::string>();
  }
  if (is_json && value.is_string()) return value.get<std::string>();
  return Fail(ErrorCode::kInvalidArgument, "expected a JSON text, or an object with a text \"prompt\"");
}

// A prompt each line; JSON in files that are called so.
Result<std::vector<std::string>> ReadList(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto text, ReadFileOrStandardInput(path, kMaxPromptBytes));
  const bool is_json = path.extension() == ".jsonl";
  std::vector<std::string> prompts;
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
    if (line.empty()) continue;
    auto prompt = is_json ? PromptOfJson(line) : Result<std::string>(line);
    if (!prompt) return Annotate(path.string() + ": line " + std::to_string(number), prompt);
    prompts.push_back(std::move(*prompt));
  }
  if (prompts.empty()) return Fail(ErrorCode::kInvalidArgument, path.string() + ": there is no prompt in it");
  return prompts;
}

// The end of a file's last line is no part of the text.
Result<std::string> ReadText(const std::filesystem::path& path) {
  auto text = ReadFileOrStandardInput(path, kMaxPromptBytes);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

}  // namespace

Result<std::vector<std::string>> ReadPrompts(const Options& options) {
  if (!options.token_ids.empty()) return std::vector<std::string>();
  if (options.prompt) return std::vector{*options.prompt};
  if (options.texts.prompts) return ReadList(*options.texts.prompts);
  if (options.prompt_file || isatty(STDIN_FILENO) != 1) {
    SKALD_ASSIGN(auto read, ReadText(options.prompt_file.value_or("-")));
    if (options.prompt_file || !read.empty()) return std::vector{std::move(read)};
  }
  if (options.model == SKALD_DEMO_MODEL) return std::vector<std::string>{"In the beginning"};
  return Fail(
      ErrorCode::kInvalidArgument,
      "there is no prompt: give --prompt, --prompt-file, --prompts or --token-ids, or write it to standard input");
}

}  // namespace skald::program
