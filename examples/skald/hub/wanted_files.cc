// SPDX-License-Identifier: Apache-2.0

#include "hub/wanted_files.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

#include "hub/transport/lower_case.h"
#include "skald/base/files/part_name.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"

namespace skald::program {
namespace {

constexpr std::string_view kWeights = "model.safetensors", kIndex = "model.safetensors.index.json";

// All that the library reads of a folder besides weights.
constexpr std::string_view kSettings[] = {"config.json",       "generation_config.json", "tokenizer.json",
                                          "tokenizer.model",   "tokenizer_config.json",  "special_tokens_map.json",
                                          "added_tokens.json", "chat_template.jinja",    "chat_template.json"};

// Taken in this order if none is asked for: the usual size first, then the others by how near they are to the original.
constexpr std::string_view kDefaults[] = {"Q4_K_M", "Q8_0",  "Q6_K", "Q5_K_M", "Q5_K_S", "Q4_K_S",
                                          "Q4_0",   "MXFP4", "BF16", "F16",    "F32"};

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether `word` is in `text` as a whole: "q4_k" is not in "model-q4_k_m.gguf".
bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordCharacter(text[at - 1])) && (end == text.size() || !IsWordCharacter(text[end]))) return true;
  }
  return false;
}

// GGUF files that are a model, and not its eyes or what it was quantised by.
std::vector<std::string> GgufFiles(std::span<const std::string> files) {
  std::vector<std::string> models;
  for (const std::string& file : files) {
    const std::string name = LowerCase(std::string_view(file).substr(file.rfind('/') + 1));
    if (name.ends_with(".gguf") && !name.starts_with("mmproj") && !HasWord(name, "imatrix")) models.push_back(file);
  }
  return models;
}

// The shortest name with this quantisation, or "": longer ones are variants ("UD-Q4_K_M").
std::string Quantised(std::span<const std::string> models, std::string_view quantisation) {
  const std::string word = LowerCase(quantisation);
  std::string best;
  for (const std::string& model : models) {
    const bool fits = model == quantisation || HasWord(LowerCase(model), word);
    if (fits && (best.empty() || model.size() < best.size())) best = model;
  }
  return best;
}

// At most so many names, for a message.
std::string Listed(std::span<const std::string> names) {
  constexpr size_t kMost = 30;
  std::string text;
  for (const std::string& name : names.first(std::min(names.size(), kMost))) {
    text += (text.empty() ? "" : ", ") + Printable(name);
  }
  return names.size() > kMost ? text + ", ..." : text;
}

Result<WantedFiles> ChooseGguf(const HubName& name, std::span<const std::string> models) {
  std::string chosen;
  if (!name.quantisation.empty()) chosen = Quantised(models, name.quantisation);
  for (const std::string_view usual : kDefaults) {
    if (name.quantisation.empty() && chosen.empty()) chosen = Quantised(models, usual);
  }
  if (name.quantisation.empty() && chosen.empty() && models.size() == 1) chosen = models[0];
  if (chosen.empty()) {
    return Fail(ErrorCode::kNotFound,
                Concat({name.repository, ": ",
                        name.quantisation.empty() ? "choose one of its GGUF files with a colon and its quantisation"
                                                  : "no GGUF file is " + QuotedName(name.quantisation),
                        "; there are: ", models.empty() ? "none" : Listed(models)}));
  }
  const auto part = PartNameOf(chosen);
  const std::vector<std::string> parts = part ? part->All() : std::vector<std::string>{chosen};
  for (const std::string& one : parts) {
    if (std::ranges::find(models, one) != models.end()) continue;
    return Fail(ErrorCode::kNotFound, Concat({name.repository, ": ", QuotedName(one), " is missing, one of the ",
                                              std::to_string(parts.size()), " parts of the model"}));
  }
  return WantedFiles{.gguf = parts.front(), .settings = {}, .weights = parts};
}

}  // namespace

Result<WantedFiles> ChooseFiles(const HubName& name, std::span<const std::string> files) {
  const auto has = [&](std::string_view file) { return std::ranges::find(files, file) != files.end(); };
  const std::vector<std::string> models = GgufFiles(files);
  const bool has_folder = has("config.json") && (has(kWeights) || has(kIndex));
  if (!name.quantisation.empty() || (!has_folder && !models.empty())) return ChooseGguf(name, models);
  if (!has_folder) {
    const bool is_pickled = std::ranges::any_of(files, [](const std::string& file) {
      return file.ends_with(".bin") || file.ends_with(".pt") || file.ends_with(".pth");
    });
    return Fail(is_pickled ? ErrorCode::kUnsupported : ErrorCode::kNotFound,
                Concat({name.repository, ": expected config.json with model.safetensors or its index, or GGUF files",
                        is_pickled ? "; there are pickled weights, which Skald does not read" : ""}));
  }
  WantedFiles wanted;
  for (const std::string_view file : kSettings) {
    if (has(file)) wanted.settings.emplace_back(file);
  }
  if (has(kWeights)) {
    wanted.weights.emplace_back(kWeights);
  } else {
    wanted.settings.emplace_back(kIndex);
  }
  return wanted;
}

}  // namespace skald::program
