// SPDX-License-Identifier: Apache-2.0
//
// The steps of BERT's tokenizer around a vocabulary of word pieces. Pure; safe for concurrent calls.
// Source: Devlin et al., arXiv:1810.04805; the class BertTokenizer of github.com/huggingface/transformers.

#ifndef SKALD_TOKENIZERS_DETAIL_ENCODERS_BERT_STEPS_H_
#define SKALD_TOKENIZERS_DETAIL_ENCODERS_BERT_STEPS_H_

#include <optional>
#include <string>

#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

struct BertHabits {
  bool lowercase = true;                   // makes letters small
  bool handle_chinese_chars = true;        // puts spaces around Chinese characters
  std::optional<bool> strip_accents = {};  // as `lowercase` if unset
};

inline void AddBertSteps(const BertHabits& habits, const std::string& unk, TokenizerSpec& spec) {
  spec.normalizers.emplace_back(normalizer::Bert{.handle_chinese_chars = habits.handle_chinese_chars,
                                                 .lowercase = habits.lowercase,
                                                 .strip_accents = habits.strip_accents});
  spec.pre_tokenizers.emplace_back(pre_tokenizer::Bert{});
  spec.model = token_model::WordPiece{.unk_token = unk};
  spec.decoders.emplace_back(token_decoder::WordPiece{});
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_ENCODERS_BERT_STEPS_H_
