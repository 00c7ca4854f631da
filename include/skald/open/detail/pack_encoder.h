// SPDX-License-Identifier: Apache-2.0
//
// An encoder in a packed file beside its model: small files as sentence-transformers has them, which OpenEncoder reads
// of a packed file as it does of a folder, and heads for tokens.

#ifndef SKALD_OPEN_DETAIL_PACK_ENCODER_H_
#define SKALD_OPEN_DETAIL_PACK_ENCODER_H_

#include "skald/open/open_encoder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/json/json_tree.h"
#include "skald/base/text/message.h"
#include "skald/open/detail/encoder_files.h"
#include "skald/open/detail/encoder_texts.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/open/detail/token_heads.h"
#include "skald/open/model_text.h"
#include "skald/weights/packed_files/packed_writer.h"

namespace skald::internal {

// The modules, and the file of each that has one.
inline void AttachModules(const EncoderFacts& facts, PackedOrigin& origin) {
  nlohmann::json modules = nlohmann::json::array();
  const JsonGuard guard(modules);
  const auto add = [&](const char* type, const char* folder, const nlohmann::json& config) {
    modules.push_back({{"type", type}, {"path", folder}});
    if (!config.is_null()) origin.attachments.emplace_back(Concat({folder, "/config.json"}), config.dump());
  };
  add("Transformer", "", nullptr);
  const auto* const pooling =
      std::ranges::find(kModulePoolings, facts.pooling, &std::pair<std::string_view, Pooling>::second);
  if (facts.kind == EncoderKind::kDecoderReranker) {
    add("LogitScore", "1_LogitScore", {{"true_token_id", facts.yes_id}, {"false_token_id", facts.no_id}});
  } else if (pooling != std::end(kModulePoolings)) {
    add("Pooling", "1_Pooling", {{"pooling_mode", pooling->first}, {"include_prompt", !facts.leaves_out_prompt}});
  }
  if (facts.normalises) add("Normalize", "2_Normalize", nullptr);
  origin.attachments.emplace_back("modules.json", modules.dump());
}

inline void AttachTexts(const EncoderFacts& facts, PackedOrigin& origin) {
  nlohmann::json texts = {{"prompts", nlohmann::json::object()}};
  const JsonGuard guard(texts);
  for (const auto& [name, text] : facts.prompts) texts["prompts"][name] = text;
  if (!facts.default_prompt.empty()) texts["default_prompt_name"] = facts.default_prompt;
  origin.attachments.emplace_back(kPromptsFile, texts.dump());
  const nlohmann::json longest = {{"max_seq_length", facts.longest_text}};
  origin.attachments.emplace_back(kLongestTextFile, longest.dump());
}

// Refuses layers after the model, which such files do not hold.
inline Result<void> AttachEncoder(const ModelInfo& info, PackedOrigin& origin) {
  SKALD_ASSIGN(auto found, EncoderIn(info));
  if (!found) return {};
  EncoderFacts facts = *std::move(found);
  if (facts.kind == EncoderKind::kReranker || !facts.dense.empty()) {
    return Fail(ErrorCode::kUnsupported, "rerankers and encoders with dense layers cannot be packed");
  }
  if (facts.kind == EncoderKind::kDecoderReranker && (facts.yes_id < 0 || facts.no_id < 0)) {
    SKALD_ASSIGN(auto tokenizer, OpenTokenizer(info));
    SKALD_TRY(FindYesAndNo(std::optional(std::move(tokenizer)), facts));
  }
  AttachModules(facts, origin);
  AttachTexts(facts, origin);
  return VisitTokenHeads(info, [&](const std::string& name, const std::vector<float>& values) {
    origin.attachments.emplace_back(
        name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  });
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_PACK_ENCODER_H_
