// SPDX-License-Identifier: Apache-2.0
//
// The tokens around a text in tokenizer_config.json, beside a tokenizer: which pieces begin and end a text. Pure; safe
// for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_CONFIG_H_
#define SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// All of it optional.
struct TokenizerConfig {
  std::optional<std::string> bos, eos, unk, pad;  // names of pieces
  std::optional<bool> add_bos, add_eos;
};

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
  config.add_bos = flag("add_bos_token");
  config.add_eos = flag("add_eos_token");
  if (error) return Failure(*error);
  return config;
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
  if (!spec.bos_id && !config.eos && spec.prefix.size() == 1) spec.bos_id = spec.prefix.front();  // no such file
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_JSON_TOKENIZER_CONFIG_H_
