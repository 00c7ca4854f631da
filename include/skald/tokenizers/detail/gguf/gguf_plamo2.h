// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of PLaMo 2 that GGUF files call "plamo2", as a TokenizerSpec. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PLAMO2_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PLAMO2_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/plamo_vocabulary.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Errors: kNotFound and kDataLoss for values that are missing or cannot be right.
inline Result<TokenizerSpec> Plamo2FromGguf(const GgufTokenizerReader& reader) {
  using Kind = PlamoVocabulary::Kind;
  const size_t count = reader.SizeOf("tokens");
  const std::vector<GgufTokenType> types = reader.ReadTypes(count);
  std::vector<double> scores(count);
  reader.Read("scores", count, "numbers, one for each token", [&](size_t i, const nlohmann::json& score) {
    if (score.is_number()) scores[i] = score.get<double>();
    return score.is_number();
  });
  PlamoVocabulary vocabulary;
  reader.ReadStrings("tokens", count, [&](size_t i, const std::string& text) {
    const bool is_text = types[i] != GgufTokenType::kByte && types[i] != GgufTokenType::kUnused;
    const bool is_special = types[i] == GgufTokenType::kControl || types[i] == GgufTokenType::kUnknown;
    vocabulary.Add(text, scores[i], !is_text ? Kind::kNoText : is_special ? Kind::kControl : Kind::kNormal);
  });
  TokenizerSpec& spec = vocabulary.spec();
  constexpr int32_t kUnknown = 0, kBegin = 1, kEnd = 2, kPad = 3;  // where files do not say
  spec.unk_id = reader.TokenId("unknown_token_id", count).value_or(kUnknown);
  spec.bos_id = reader.TokenId("bos_token_id", count).value_or(kBegin);
  spec.eos_id = reader.TokenId("eos_token_id", count).value_or(kEnd);
  spec.pad_id = reader.TokenId("padding_token_id", count).value_or(kPad);
  reader.fields().Expect("add_space_prefix", false);
  if (reader.fields().Flag("add_bos_token", false)) spec.prefix.push_back(*spec.bos_id);
  if (reader.fields().Flag("add_eos_token", false)) spec.suffix.push_back(*spec.eos_id);
  if (!reader.ok()) return reader.failure();
  return std::move(vocabulary).Finish();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PLAMO2_H_
