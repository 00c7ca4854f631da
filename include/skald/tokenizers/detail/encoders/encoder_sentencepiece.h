// SPDX-License-Identifier: Apache-2.0
//
// Reads the SentencePiece models of encoders, whose ids are not those of the file: XLM-RoBERTa's
// (sentencepiece.bpe.model) come after four tokens of fairseq's, T5's (spiece.model) come before its sentinels. Pure;
// safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_ENCODERS_ENCODER_SENTENCEPIECE_H_
#define SKALD_TOKENIZERS_DETAIL_ENCODERS_ENCODER_SENTENCEPIECE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/encoders/input_frames.h"
#include "skald/tokenizers/detail/encoders/unigram_steps.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_pieces.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

inline constexpr std::string_view kFairseqPieces = "sentencepiece.bpe.model", kT5Pieces = "spiece.model";

// Checks that the first pieces are these, in this order.
inline Result<void> CheckFirstPieces(const std::vector<NewPiece>& pieces, std::array<std::string_view, 3> names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (i < pieces.size() && pieces[i].text == names[i]) continue;
    return Fail(ErrorCode::kDataLoss, Concat({"has ", i < pieces.size() ? QuotedName(pieces[i].text) : "no piece",
                                              " where its kind has ", QuotedName(names[i])}));
  }
  return {};
}

inline Result<ReadSentencePieces> ReadLikelyPieces(std::string_view model) {
  SKALD_ASSIGN(auto read, ReadAllPieces(model));
  if (read.choice == PieceChoice::kByLikelihood && !read.byte_fallback) return read;
  return Fail(ErrorCode::kUnsupported,
              "is a SentencePiece model of merges or with byte pieces, expected one of likeliest pieces");
}

inline void AddSpecialPiece(std::string_view name, int32_t id, bool lstrip, TokenizerSpec& spec) {
  spec.added_tokens.push_back({.content = std::string(name), .id = id, .lstrip = lstrip, .special = true});
}

// The pieces of fairseq: <s>, <pad>, </s>, <unk>, those of the file from its fourth on, and <mask>.
inline Result<TokenizerSpec> ReadFairseqPieces(std::string_view model, const TokenizerConfig& config) {
  constexpr std::array<std::string_view, 1> kClasses = {"XLMRoberta"};
  constexpr int32_t kBegin = 0, kPad = 1, kEnd = 2, kUnknown = 3;
  SKALD_TRY(CheckTokenizerClass(config, kClasses));
  SKALD_ASSIGN(auto read, ReadLikelyPieces(model));
  SKALD_TRY(CheckFirstPieces(read.pieces, {"<unk>", "<s>", "</s>"}));
  TokenizerSpec spec;
  spec.model = token_model::Unigram{.scores = {}, .unk_id = kUnknown};
  for (const std::string_view name : {"<s>", "<pad>", "</s>", "<unk>"}) {
    AddSpecialPiece(name, static_cast<int32_t>(spec.vocabulary.ids.size()), false, spec);
    AddScoredPiece(name, 0, spec);
  }
  for (size_t i = 3; i < read.pieces.size(); ++i) AddScoredPiece(read.pieces[i].text, read.pieces[i].score, spec);
  AddSpecialPiece("<mask>", static_cast<int32_t>(spec.vocabulary.ids.size()), true, spec);
  AddScoredPiece("<mask>", 0, spec);
  AddUnigramSteps(std::move(read.charsmap), spec);
  SetClassified(kBegin, kEnd, FrameForm::kRoberta, spec);
  spec.bos_id = kBegin;
  spec.eos_id = kEnd;
  spec.pad_id = kPad;
  return spec;
}

// The pieces of T5: those of the file, and sentinels in falling order.
inline Result<TokenizerSpec> ReadT5Pieces(std::string_view model, const TokenizerConfig& config) {
  constexpr std::array<std::string_view, 2> kClasses = {"T5", "MT5"};
  constexpr int32_t kPad = 0, kEnd = 1, kUnknown = 2;
  constexpr int kExtraIds = 100;
  SKALD_TRY(CheckTokenizerClass(config, kClasses));
  SKALD_ASSIGN(auto read, ReadLikelyPieces(model));
  SKALD_TRY(CheckFirstPieces(read.pieces, {"<pad>", "</s>", "<unk>"}));
  TokenizerSpec spec;
  spec.model = token_model::Unigram{.scores = {}, .unk_id = kUnknown};
  for (size_t i = 0; i < read.pieces.size(); ++i) {
    if (i <= kUnknown) AddSpecialPiece(read.pieces[i].text, static_cast<int32_t>(i), false, spec);
    AddScoredPiece(read.pieces[i].text, read.pieces[i].score, spec);
  }
  for (int i = config.extra_ids.value_or(kExtraIds) - 1; i >= 0; --i) {
    const std::string name = "<extra_id_" + std::to_string(i) + ">";
    AddSpecialPiece(name, static_cast<int32_t>(spec.vocabulary.ids.size()), false, spec);
    AddScoredPiece(name, 0, spec);
  }
  AddUnigramSteps(std::move(read.charsmap), spec);
  SetEndedTexts(kEnd, spec);
  spec.eos_id = kEnd;
  spec.pad_id = kPad;
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_ENCODERS_ENCODER_SENTENCEPIECE_H_
