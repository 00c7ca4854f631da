// SPDX-License-Identifier: Apache-2.0
//
// Models turn the pieces of a text into ids. Implementations are immutable and safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_PIECE_MODEL_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_PIECE_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/pipeline/models/token_table.h"

namespace skald::internal {

class PieceModel {
 public:
  virtual ~PieceModel() = default;

  // Appends the ids of `pieces` of `text`, none of which is empty. Text of a message becomes no marker.
  virtual Result<void> Encode(std::string_view text, std::span<const ByteRange> pieces, Author author,
                              std::vector<int32_t>& ids) const = 0;
};

// Says by id which pieces are markers; beyond its end none is.
using Markers = std::vector<bool>;

inline bool IsMarker(const Markers& markers, int32_t id) {
  const auto index = static_cast<size_t>(id);
  return index < markers.size() && markers[index];
}

// The pieces of the model, without added tokens that it does not know itself: texts as it meets them, by id and by
// text.
struct ModelVocabulary {
  TokenTexts texts;
  TextIndex index;

  int32_t Find(std::string_view text) const { return index.Find(text, texts); }
};

// Returns the byte of a piece like "<0x0A>".
constexpr std::optional<uint8_t> ByteOfPiece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : piece.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

// The pieces "<0x00>" to "<0xFF>" that spell what has no piece of its own.
class BytePieces {
 public:
  BytePieces() { ids_.fill(kNoToken); }
  explicit BytePieces(const ModelVocabulary& vocabulary) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (size_t byte = 0; byte < 256; ++byte) {
      const char piece[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
      ids_[byte] = vocabulary.Find({piece, sizeof piece});
    }
  }

  bool has_all() const { return std::find(ids_.begin(), ids_.end(), kNoToken) == ids_.end(); }

  // Appends the ids of the bytes of `text` if all of them have one.
  bool Append(std::string_view text, std::vector<int32_t>& ids) const {
    const size_t before = ids.size();
    for (const char byte : text) {
      const int32_t id = ids_[static_cast<unsigned char>(byte)];
      if (id == kNoToken) {
        ids.resize(before);
        return false;
      }
      ids.push_back(id);
    }
    return true;
  }

 private:
  std::array<int32_t, 256> ids_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_PIECE_MODEL_H_
