// SPDX-License-Identifier: Apache-2.0

#include "server/api/llama_cpp/infill.h"

#include "server/api/request/texts.h"

namespace skald::serve {
namespace {

// How families spell their marks; an empty name: they have none.
struct Spelling {
  const char *prefix, *suffix, *middle, *repository, *file, *pad;
};

constexpr Spelling kSpellings[] = {
    // Qwen 2.5 Coder and 3 Coder.
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>", "<|fim_pad|>"},
    // StarCoder 2, Granite Code, SantaCoder.
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>", "<fim_pad>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>", "<reponame>", "<filename>", "<fim-pad>"},
    // DeepSeek Coder.
    {"<\uFF5Cfim\u2581begin\uFF5C>", "<\uFF5Cfim\u2581hole\uFF5C>", "<\uFF5Cfim\u2581end\uFF5C>", "", "", ""},
    // GLM 4.5.
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", "", "", ""},
    // Code Llama.
    {"\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>", "", "", "\u2581<EOT>"},
};

std::optional<int32_t> IdOf(const Tokenizer& tokenizer, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto special = tokenizer.SpecialId(name);
  return special ? special : tokenizer.PieceToId(name);
}

// Ids one after another.
class Prompt {
 public:
  Prompt(const Call& call, std::string_view name) : call_(call), name_(name) {}

  void Add(int32_t id) { ids_.push_back(id); }
  void Add(const std::string& text) {
    if (text.empty()) return;
    const auto more = TokensOfText(text, name_, call_, ParseSpecial::kNo, AddSpecial::kNo);
    ids_.insert(ids_.end(), more.begin(), more.end());
  }
  std::vector<int32_t> Take() { return std::move(ids_); }

 private:
  const Call& call_;
  const std::string_view name_;
  std::vector<int32_t> ids_;
};

void AddFiles(const InfillTexts& texts, const InfillMarks& marks, Prompt& prompt) {
  if (texts.files.empty()) return;
  if (marks.repository) {
    prompt.Add(*marks.repository);
    prompt.Add("repository\n");
  }
  for (const auto& [name, text] : texts.files) {
    if (marks.file) {
      prompt.Add(*marks.file);
      prompt.Add(name + "\n");
    }
    prompt.Add(text + (text.ends_with('\n') ? "" : "\n"));
  }
  if (!marks.file) return;
  prompt.Add(*marks.file);
  prompt.Add("file\n");
}

}  // namespace

std::optional<InfillMarks> FindInfillMarks(const Tokenizer& tokenizer) {
  for (const Spelling& spelling : kSpellings) {
    const auto prefix = IdOf(tokenizer, spelling.prefix), suffix = IdOf(tokenizer, spelling.suffix),
               middle = IdOf(tokenizer, spelling.middle);
    if (!prefix || !suffix || !middle) continue;
    InfillMarks marks = {*prefix, *suffix, *middle, IdOf(tokenizer, spelling.repository),
                         IdOf(tokenizer, spelling.file)};
    for (const auto& end : {marks.repository, marks.file, IdOf(tokenizer, spelling.pad)}) {
      if (end) marks.ends.push_back(*end);
    }
    return marks;
  }
  return std::nullopt;
}

std::vector<int32_t> InfillPrompt(const Call& call, const InfillTexts& texts, std::string_view name, Request& request) {
  const Tokenizer& tokenizer = call.model().served().text.tokenizer;
  const auto marks = FindInfillMarks(tokenizer);
  if (!marks) {
    throw ApiError{400, "this model cannot fill in the middle: its tokenizer has no marks for that", std::string(name),
                   "unsupported_parameter"};
  }
  Prompt prompt(call, name);
  for (const int32_t id : tokenizer.engine().prefix()) prompt.Add(id);
  AddFiles(texts, *marks, prompt);
  prompt.Add(marks->prefix);
  prompt.Add(texts.prefix);
  prompt.Add(marks->suffix);
  prompt.Add(texts.suffix);
  prompt.Add(marks->middle);
  request.end_tokens.insert(request.end_tokens.end(), marks->ends.begin(), marks->ends.end());
  return prompt.Take();
}

}  // namespace skald::serve
