// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a tokenizer that is written to a GGUF file.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_NEW_PIECES_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_NEW_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

// The pieces of a file by their ids. Those that no tokenizer names are unused.
struct GgufPieces {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::vector<float> scores;  // where merges go by them

  explicit GgufPieces(size_t rows) : texts(rows), types(rows, static_cast<int32_t>(GgufTokenType::kUnused)) {
    for (size_t i = 0; i < rows; ++i) texts[i] = "[PAD" + std::to_string(i) + "]";
  }

  Result<void> Set(int32_t id, std::string_view text, GgufTokenType type) {
    const auto index = static_cast<size_t>(id);
    if (id < 0 || index >= texts.size()) {
      return Fail(ErrorCode::kDataLoss,
                  Concat({"piece ", QuotedName(text), " has the id ", std::to_string(id),
                          ", and the model's embedding ", std::to_string(texts.size()), " rows"}));
    }
    texts[index] = text;
    types[index] = static_cast<int32_t>(type);
    return {};
  }

  Result<void> SetAll(const TokenizerSpec& spec) {
    for (size_t i = 0; i < spec.vocabulary.ids.size(); ++i) {
      SKALD_TRY(Set(spec.vocabulary.ids[i], spec.vocabulary.texts[i], GgufTokenType::kNormal));
    }
    return SetAdded(spec);
  }

  Result<void> SetAdded(const TokenizerSpec& spec) {
    for (const AddedToken& token : spec.added_tokens) {
      SKALD_TRY(Set(token.id, token.content, token.special ? GgufTokenType::kControl : GgufTokenType::kUserDefined));
    }
    return {};
  }
};

inline std::string EntryName(const char* name) { return std::string(kGgufTokenizer) + name; }

inline void AddPieces(const GgufPieces& pieces, std::vector<GgufEntry>& entries) {
  entries.push_back(GgufTexts(EntryName("tokens"), pieces.texts));
  if (!pieces.scores.empty()) entries.push_back(GgufNumbers(EntryName("scores"), pieces.scores));
  entries.push_back(GgufNumbers(EntryName("token_type"), pieces.types));
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_NEW_PIECES_H_
