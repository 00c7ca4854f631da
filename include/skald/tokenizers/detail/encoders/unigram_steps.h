// SPDX-License-Identifier: Apache-2.0
//
// The steps of the tokenizers of likeliest pieces that XLM-RoBERTa and T5 have, around a vocabulary from any file.
// Pure; safe for concurrent calls.
// Source: the classes XLMRobertaTokenizer and T5Tokenizer of github.com/huggingface/transformers.

#ifndef SKALD_TOKENIZERS_DETAIL_ENCODERS_UNIGRAM_STEPS_H_
#define SKALD_TOKENIZERS_DETAIL_ENCODERS_UNIGRAM_STEPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Adds a piece after those of `spec`, whose model is a Unigram.
inline void AddScoredPiece(std::string_view text, double score, TokenizerSpec& spec) {
  auto& model = std::get<token_model::Unigram>(spec.model);
  spec.vocabulary.Add(text, static_cast<int32_t>(model.scores.size()));
  model.scores.push_back(score);
}

// White space of any kind and number is one symbol; one goes before each text.
inline void AddUnigramSteps(std::string charsmap, TokenizerSpec& spec) {
  if (!charsmap.empty()) spec.normalizers.emplace_back(normalizer::Precompiled{std::move(charsmap)});
  spec.pre_tokenizers.emplace_back(pre_tokenizer::WhitespaceSplit{});
  spec.pre_tokenizers.emplace_back(pre_tokenizer::Metaspace{});
  spec.decoders.emplace_back(token_decoder::Metaspace{});
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_ENCODERS_UNIGRAM_STEPS_H_
