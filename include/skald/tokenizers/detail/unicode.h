// SPDX-License-Identifier: Apache-2.0
//
// Properties of characters that tokenizers need: general categories, white space, lower case and the four normalisation
// forms. The tables are those of utf8proc: one small library of C without data files, locales or versioned symbols,
// which all distributions have; ICU is a hundred times its size, and links only to the very version that a program was
// built with. Pure functions, safe for concurrent calls. Source: Unicode Standard, chapter 4, and its annexes 15 and
// 44.

#ifndef SKALD_TOKENIZERS_DETAIL_UNICODE_H_
#define SKALD_TOKENIZERS_DETAIL_UNICODE_H_

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/normalization_form.h"

namespace skald::internal {

// Whether a byte of UTF-8 goes on with a character that began before.
constexpr bool ContinuesUtf8(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

struct CodePoint {
  char32_t value;
  size_t length;  // bytes, at least 1
};

// Returns the first character of `utf8`, which must not be empty and should be valid. Of invalid text it reads no byte
// beyond the end, and gives characters that may be any.
inline CodePoint FirstCodePoint(std::string_view utf8) {
  const auto byte = [utf8](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(utf8[i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead >= 0xF0 && utf8.size() >= 4) {
    return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
  }
  if (lead >= 0xE0 && utf8.size() >= 3) {
    return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  }
  if (utf8.size() >= 2) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  return {0xFFFD, 1};
}

inline void AppendUtf8(char32_t c, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

// The number of bytes before the first that is no ASCII.
inline size_t AsciiPrefix(std::string_view text) {
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i;
}

// --- Categories --------------------------------------------------------------------------------------------------

inline bool IsCategory(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= first && category <= last;
}

inline bool IsLetter(char32_t c) { return IsCategory(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
inline bool IsMark(char32_t c) { return IsCategory(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }
inline bool IsNumber(char32_t c) { return IsCategory(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
inline bool IsSymbol(char32_t c) { return IsCategory(c, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }

// The property White_Space, which no version of Unicode will change.
constexpr bool IsWhiteSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

// --- Lower case --------------------------------------------------------------------------------------------------

// Each character by itself, without regard to its neighbours: a capital sigma becomes the usual small one everywhere.
inline std::string LowerCase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = FirstCodePoint(text);
    constexpr char32_t kCapitalDottedI = 0x130;  // alone has a lower case of two characters
    if (c.value < 0x80) {
      lower += static_cast<char>(c.value >= 'A' && c.value <= 'Z' ? c.value + ('a' - 'A') : c.value);
    } else if (c.value == kCapitalDottedI) {
      lower += "i\xCC\x87";
    } else {
      AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))), lower);
    }
    text.remove_prefix(c.length);
  }
  return lower;
}

// --- Normalisation -----------------------------------------------------------------------------------------------

// Whether `c` is its own normal form, beside whatever characters it stands: a starter that composes with no character
// before it. Says so only of characters that texts are made of; the others take the slow path.
inline bool IsStable(char32_t c, NormalizationForm form) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range kAll[] = {{0, 0x7F}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}};
  // Latin, Greek, Cyrillic, Hebrew and Arabic letters, kana, Hangul.
  static constexpr Range kComposed[] = {{0x80, 0x2FF},    {0x388, 0x482},   {0x48A, 0x52F},   {0x5D0, 0x5EA},
                                        {0x620, 0x64A},   {0x2010, 0x2027}, {0x3001, 0x3029}, {0x3041, 0x3096},
                                        {0x30A1, 0x30FA}, {0xAC00, 0xD7A3}, {0xFF01, 0xFF5E}, {0x1F300, 0x1F64F}};
  const auto is_in = [c](const Range& range) { return c >= range.first && c <= range.last; };
  return std::any_of(std::begin(kAll), std::end(kAll), is_in) ||
         (form == NormalizationForm::kNfc && std::any_of(std::begin(kComposed), std::end(kComposed), is_in));
}

// Decomposes, sorts and perhaps composes the characters of one stretch. utf8proc's own function for whole texts takes
// quadratic time for a long row of accents, so here it does single characters only.
class StretchNormalizer {
 public:
  explicit StretchNormalizer(NormalizationForm form) {
    const bool composes = form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc;
    const bool is_compatible = form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
    decompose_ = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0));
    compose_ = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : 0));
  }

  // Returns false if the library does not want to.
  bool Append(std::string_view text, std::string& normal) {
    characters_.clear();
    while (!text.empty()) {
      const CodePoint c = FirstCodePoint(text);
      Decompose(static_cast<utf8proc_int32_t>(c.value));
      text.remove_prefix(c.length);
    }
    SortMarks();
    const auto count = static_cast<utf8proc_ssize_t>(characters_.size());
    const utf8proc_ssize_t composed = utf8proc_normalize_utf32(characters_.data(), count, compose_);
    for (utf8proc_ssize_t i = 0; i < composed; ++i) {
      AppendUtf8(static_cast<char32_t>(characters_[static_cast<size_t>(i)]), normal);
    }
    return composed >= 0;
  }

 private:
  void Decompose(utf8proc_int32_t c) {
    constexpr utf8proc_ssize_t kRoom = 32;  // the longest decomposition has 18 characters
    utf8proc_int32_t parts[kRoom];
    const utf8proc_ssize_t count = utf8proc_decompose_char(c, parts, kRoom, decompose_, nullptr);
    if (count < 0 || count > kRoom) {  // what is no character stays as it is
      characters_.push_back(utf8proc_codepoint_valid(c) ? c : 0xFFFD);
    } else {
      characters_.insert(characters_.end(), parts, parts + count);
    }
  }

  static int ClassOf(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

  // The canonical order: of each row of characters that combine, by their class.
  void SortMarks() {
    const auto combines = [](utf8proc_int32_t c) { return ClassOf(c) != 0; };
    for (auto first = characters_.begin(); first != characters_.end();) {
      first = std::find_if(first, characters_.end(), combines);
      const auto last = std::find_if_not(first, characters_.end(), combines);
      std::stable_sort(first, last, [](utf8proc_int32_t a, utf8proc_int32_t b) { return ClassOf(a) < ClassOf(b); });
      first = last;
    }
  }

  utf8proc_option_t decompose_, compose_;
  std::vector<utf8proc_int32_t> characters_;
};

// Returns the normal form of `text`, of any length and with zeros in it if it likes. Stretches that are normal already
// are only copied. Text that is no valid UTF-8 becomes some text. Errors: kInvalidArgument for what utf8proc refuses.
inline Result<std::string> Normalize(NormalizationForm form, std::string_view text) {
  std::string normal;
  normal.reserve(text.size());
  StretchNormalizer slow(form);
  for (size_t done = 0; done < text.size();) {
    // Stable characters up to one that is not; the last of them may change with what follows.
    size_t end = done, last = done;
    while (end < text.size()) {
      if (const size_t ascii = AsciiPrefix(text.substr(end)); ascii > 0) {
        end += ascii;
        last = end - 1;
      }
      if (end == text.size()) break;
      const CodePoint c = FirstCodePoint(text.substr(end));
      if (!IsStable(c.value, form)) break;
      last = end;
      end += c.length;
    }
    if (end == text.size()) last = end;
    normal.append(text, done, last - done);
    while (end < text.size()) {
      const CodePoint c = FirstCodePoint(text.substr(end));
      if (IsStable(c.value, form)) break;
      end += c.length;
    }
    if (!slow.Append(text.substr(last, end - last), normal)) {
      return Fail(ErrorCode::kInvalidArgument, "a text cannot be brought into a Unicode normalisation form");
    }
    done = end;
  }
  return normal;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_UNICODE_H_
