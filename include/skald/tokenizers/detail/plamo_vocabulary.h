// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of PLaMo 2: of all ways to put a text together from pieces the one of the highest sum of scores, these
// rounded to a 10,000th; of equal ones that whose first piece is the longest. Characters without a piece are spelled
// with bytes. Its file, tokenizer.jsonl, has a piece in each line, the one with id 0 first: an array of its text, its
// score, and its type. Pure; safe for concurrent calls. Source: tokenization_plamo.py beside the published checkpoints.

#ifndef SKALD_TOKENIZERS_DETAIL_PLAMO_VOCABULARY_H_
#define SKALD_TOKENIZERS_DETAIL_PLAMO_VOCABULARY_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Puts pieces together to the steps of such a tokenizer.
class PlamoVocabulary {
 public:
  enum class Kind {
    kNormal,   // of texts
    kControl,  // special
    kNoText,   // the spelling of a byte, or a gap in the vocabulary: no text becomes it
  };

  static constexpr double kScoreUnits = 1e4;  // of what the file says

  PlamoVocabulary() {
    model_.byte_fallback = model_.longest_first = true;
    model_.unknown_cost = 10'000'000;
    spec_.decoders.emplace_back(token_decoder::ByteFallback{});
    spec_.decoders.emplace_back(token_decoder::Fuse{});
  }

  // The next piece.
  void Add(std::string_view text, double score, Kind kind) {
    constexpr double kNever = -1e15;  // less than the sum of any text's unknown characters
    const auto id = static_cast<int32_t>(model_.scores.size());
    const double rounded = std::nearbyint(score * kScoreUnits);
    spec_.vocabulary.Add(text, id);
    const bool is_special = kind == Kind::kControl || (text.starts_with("<|plamo:") && text.ends_with("|>"));
    // No text becomes a special token, whatever a user spells.
    const bool is_in_texts = !is_special && kind != Kind::kNoText && rounded > kLeastScore;
    model_.scores.push_back(is_in_texts ? rounded : kNever);
    if (is_special) spec_.added_tokens.push_back({.content = std::string(text), .id = id, .special = true});
  }

  size_t size() const { return model_.scores.size(); }

  TokenizerSpec& spec() { return spec_; }

  // Error: kDataLoss where some byte has no piece, so that not every text could be encoded.
  Result<TokenizerSpec> Finish() && {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    size_t bytes = 0;
    for (size_t i = 0; i < size(); ++i) {
      const std::string_view text = spec_.vocabulary.texts[i];
      bytes += text.size() == 6 && text.starts_with("<0x") && text.ends_with('>') &&
               kDigits.find(text[3]) != kDigits.npos && kDigits.find(text[4]) != kDigits.npos;
    }
    if (bytes != 256) {
      return Fail(ErrorCode::kDataLoss, "PLaMo's vocabulary has " + std::to_string(bytes) +
                                            R"( pieces like "<0x0A>", expected one for each byte)");
    }
    spec_.model = std::move(model_);
    return std::move(spec_);
  }

 private:
  static constexpr double kLeastScore = -20'000'000;  // pieces with this or less are in no text

  TokenizerSpec spec_;
  token_model::Unigram model_;
};

// No other file with a tokenizer begins so.
inline bool IsPlamoVocabulary(std::string_view bytes) { return bytes.starts_with("[\""); }

// Returns the steps of the tokenizer whose file has the content `text`. Error: kDataLoss, naming the line.
inline Result<TokenizerSpec> ReadPlamoVocabulary(std::string_view text) {
  PlamoVocabulary vocabulary;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    nlohmann::json piece;
    const JsonGuard guard(piece);
    const std::string wrong = ParseJson(line, piece);
    const bool is_piece = wrong.empty() && piece.is_array() && piece.size() >= 2 && piece[0].is_string() &&
                          piece[1].is_number() && (piece.size() < 3 || piece[2].is_string());
    if (!is_piece) {
      return Fail(ErrorCode::kDataLoss,
                  Concat({"piece ", std::to_string(vocabulary.size()), " of PLaMo's vocabulary is ", QuotedName(line),
                          ", expected an array of its text, its score and its type"}));
    }
    const std::string type = piece.size() < 3 ? "NORMAL" : piece[2].get<std::string>();
    const auto kind = type == "BYTE"                           ? PlamoVocabulary::Kind::kNoText
                      : type == "CONTROL" || type == "UNKNOWN" ? PlamoVocabulary::Kind::kControl
                                                               : PlamoVocabulary::Kind::kNormal;
    vocabulary.Add(piece[0].get_ref<const std::string&>(), piece[1].get<double>(), kind);
  }
  return std::move(vocabulary).Finish();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PLAMO_VOCABULARY_H_
