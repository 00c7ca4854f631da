// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece's normalisation table as tokenizer.json carries it: a double-array trie from letters to their
// replacement. The table comes from outside: no walk leaves it. Immutable; safe for concurrent calls.
// Source: github.com/s-yata/darts-clone (the units of the trie); the crate spm_precompiled, whose habits count: a
// grapheme of fewer than six bytes is replaced by what its shortest known beginning becomes.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PRECOMPILED_CHARSMAP_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PRECOMPILED_CHARSMAP_H_

#include <utf8proc.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

// The bytes of the grapheme cluster that `text`, which must not be empty, starts with.
inline size_t FirstGrapheme(std::string_view text) {
  const CodePoint first = FirstCodePoint(text);
  size_t end = first.length;
  utf8proc_int32_t state = 0;
  for (auto last = static_cast<utf8proc_int32_t>(first.value); end < text.size();) {
    const CodePoint next = FirstCodePoint(text.substr(end));
    const auto value = static_cast<utf8proc_int32_t>(next.value);
    if (utf8proc_grapheme_break_stateful(last, value, &state)) break;
    end += next.length;
    last = value;
  }
  return end;
}

class PrecompiledCharsmap {
 public:
  // `bytes`: the size of the trie, the trie, and the replacements with a zero after each.
  static Result<PrecompiledCharsmap> Parse(std::string_view bytes) {
    const auto refuse = [](const std::string& why) {
      return Fail(ErrorCode::kDataLoss, "the normalizer's precompiled_charsmap " + why);
    };
    if (bytes.size() < 4) return refuse("has no size");
    const size_t size = UnitAt(bytes, 0);
    if (size % 4 != 0 || size == 0 || size > bytes.size() - 4) {
      return refuse("claims " + std::to_string(size) + " bytes for its trie, but has " +
                    std::to_string(bytes.size() - 4));
    }
    PrecompiledCharsmap map;
    for (size_t i = 0; i < size; i += 4) map.units_.push_back(UnitAt(bytes, 4 + i));
    map.replacements_ = bytes.substr(4 + size);
    return map;
  }

  // Stops where the result has more than `most` bytes.
  std::string Apply(std::string_view text, size_t most) const {
    std::string normal;
    normal.reserve(text.size());
    while (!text.empty() && normal.size() <= most) {
      const std::string_view grapheme = text.substr(0, FirstGrapheme(text));
      text.remove_prefix(grapheme.size());
      const auto whole = grapheme.size() < 6 ? Find(grapheme) : std::nullopt;
      if (whole) {
        normal += *whole;
        continue;
      }
      for (std::string_view rest = grapheme; !rest.empty() && normal.size() <= most;) {
        const std::string_view letter = rest.substr(0, FirstCodePoint(rest).length);
        normal += Find(letter).value_or(letter);
        rest.remove_prefix(letter.size());
      }
    }
    return normal;
  }

 private:
  static uint32_t UnitAt(std::string_view bytes, size_t at) {
    uint32_t unit = 0;
    for (size_t i = 4; i-- > 0;) unit = unit << 8 | static_cast<unsigned char>(bytes[at + i]);
    return unit;
  }

  static size_t OffsetOf(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  // The replacement of the shortest known text that `letters` begin with.
  std::optional<std::string_view> Find(std::string_view letters) const {
    size_t node = OffsetOf(units_[0]);
    for (const char letter : letters) {
      const auto byte = static_cast<unsigned char>(letter);
      node ^= byte;
      if (byte == 0 || node >= units_.size()) break;
      const uint32_t unit = units_[node];
      if ((unit & (1u << 31 | 0xFF)) != byte) break;
      node ^= OffsetOf(unit);
      if (node >= units_.size()) break;
      const bool has_leaf = (unit >> 8 & 1) != 0;
      if (!has_leaf) continue;
      const size_t begin = units_[node] & ~(1u << 31);
      if (begin > replacements_.size()) break;
      return std::string_view(replacements_).substr(begin, replacements_.find('\0', begin) - begin);
    }
    return std::nullopt;
  }

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PRECOMPILED_CHARSMAP_H_
