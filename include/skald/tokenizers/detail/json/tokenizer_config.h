// SPDX-License-Identifier: Apache-2.0
//
// The content of tokenizer_config.json beside a tokenizer: which pieces begin and end a text, and what files of pieces
// alone leave open. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_CONFIG_H_
#define SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// All of it optional.
struct TokenizerConfig {
  std::optional<std::string> bos, eos, unk, pad, cls, sep, mask;  // names of pieces
  std::optional<bool> add_bos, add_eos;
  std::optional<std::string> tokenizer_class;
  std::optional<bool> do_lower_case, tokenize_chinese_chars, strip_accents;  // of BERT's tokenizer
  std::optional<int> extra_ids;                                              // pieces of T5's after those of its file
};

// Checks that the tokenizer has none but one of these classes, which are named without "Tokenizer" and "Fast". No name
// at all is right too.
inline Result<void> CheckTokenizerClass(const TokenizerConfig& config, std::span<const std::string_view> classes) {
  if (!config.tokenizer_class) return {};
  std::string known;
  for (const std::string_view name : classes) {
    const std::string whole = std::string(name) + "Tokenizer";
    if (*config.tokenizer_class == whole || *config.tokenizer_class == whole + "Fast") return {};
    known += (known.empty() ? "" : ", ") + whole;
  }
  return Fail(ErrorCode::kUnsupported, Concat({"belongs to a ", QuotedName(*config.tokenizer_class),
                                               "; without a tokenizer.json Skald supports only ", known}));
}

inline Result<TokenizerConfig> ReadTokenizerConfig(std::string_view text) {
  nlohmann::json tree;
  const JsonGuard guard(tree);
  std::string complaint = ParseJson(text, tree);
  if (complaint.empty() && !tree.is_object()) complaint = "is no JSON object";
  if (!complaint.empty()) return Fail(ErrorCode::kDataLoss, "the tokenizer_config.json " + complaint);
  std::optional<Error> error;
  const JsonFields fields(&tree, nullptr, "tokenizer_config.json: ", &error);
  const auto name = [&fields](const char* field) -> std::optional<std::string> {
    const nlohmann::json* const value = fields.Find(field);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    const std::optional<JsonFields> token = fields.Object(field);
    return token ? std::optional<std::string>(token->String("content")) : std::nullopt;
  };
  const auto flag = [&fields](const char* field) {
    return fields.Find(field) == nullptr ? std::nullopt : std::optional<bool>(fields.Flag(field, false));
  };
  TokenizerConfig config;
  config.bos = name("bos_token");
  config.eos = name("eos_token");
  config.unk = name("unk_token");
  config.pad = name("pad_token");
  config.cls = name("cls_token");
  config.sep = name("sep_token");
  config.mask = name("mask_token");
  config.add_bos = flag("add_bos_token");
  config.add_eos = flag("add_eos_token");
  const nlohmann::json* const type = fields.Find("tokenizer_class");
  if (type != nullptr && type->is_string()) config.tokenizer_class = type->get<std::string>();
  config.do_lower_case = flag("do_lower_case");
  config.tokenize_chinese_chars = flag("tokenize_chinese_chars");
  config.strip_accents = flag("strip_accents");
  constexpr int kMostExtraIds = 1 << 16;
  if (fields.Find("extra_ids") != nullptr) config.extra_ids = fields.Integer("extra_ids", 0, kMostExtraIds);
  if (error) return Failure(*error);
  return config;
}

// The class of tokenizer that models of a type in config.json have, where it is not the one that their file's name
// tells.
inline std::optional<std::string> ClassOfModelType(std::string_view config_json) {
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"mpnet", "MPNetTokenizer"}, {"camembert", "CamembertTokenizer"}, {"mbart", "MBartTokenizer"}};
  nlohmann::json tree;
  const JsonGuard guard(tree);
  if (!ParsePythonJson(config_json, tree).empty() || !tree.is_object()) return std::nullopt;
  const auto type = tree.find("model_type");
  for (const auto& [name, of_it] : kClasses) {
    if (type != tree.end() && *type == name) return std::string(of_it);
  }
  return std::nullopt;
}

inline std::optional<int32_t> FindInSpec(const TokenizerSpec& spec, const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  for (const AddedToken& token : spec.added_tokens) {
    if (token.content == *name) return token.id;
  }
  for (size_t i = 0; i < spec.vocabulary.texts.size(); ++i) {
    if (spec.vocabulary.texts[i] == *name) return spec.vocabulary.ids[i];
  }
  return std::nullopt;
}

// Names that are no pieces are passed over. Where tokenizer.json itself puts nothing around a text, the settings count.
inline void ApplyTokenizerConfig(const TokenizerConfig& config, TokenizerSpec& spec) {
  spec.bos_id = FindInSpec(spec, config.bos);
  spec.eos_id = FindInSpec(spec, config.eos);
  spec.unk_id = FindInSpec(spec, config.unk);
  spec.pad_id = FindInSpec(spec, config.pad);
  const bool says_nothing = spec.prefix.empty() && spec.suffix.empty();
  if (says_nothing && spec.bos_id && config.add_bos.value_or(false)) spec.prefix.push_back(*spec.bos_id);
  if (says_nothing && spec.eos_id && config.add_eos.value_or(false)) spec.suffix.push_back(*spec.eos_id);
  if (says_nothing && !(spec.prefix.empty() && spec.suffix.empty())) {
    spec.types.clear();
    spec.pair.clear();
  }
  if (!spec.bos_id && !config.eos && spec.prefix.size() == 1) spec.bos_id = spec.prefix.front();  // no such file
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_CONFIG_H_
