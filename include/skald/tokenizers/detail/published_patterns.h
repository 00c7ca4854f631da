// SPDX-License-Identifier: Apache-2.0
//
// The split patterns that most published tokenizers have, each as a scanner written by hand: it finds what a
// backtracking engine finds, by looking at every character about once. Which pattern is meant is told by the very text
// of the regular expression. Pure functions, safe for concurrent calls, linear in the length of the text.
//
// All these patterns are alternatives in an order: contractions ('s, 'll), words, numbers, other signs, white space.
// The comments below say which part of the pattern a line implements.

#ifndef SKALD_TOKENIZERS_DETAIL_PUBLISHED_PATTERNS_H_
#define SKALD_TOKENIZERS_DETAIL_PUBLISHED_PATTERNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

// --- What the patterns distinguish ---------------------------------------------------------------------------------

// Sets of characters, as bits; each character is in exactly one of these.
using CharacterSet = uint8_t;
inline constexpr CharacterSet kCapitals = 1;   // \p{Lu}\p{Lt}
inline constexpr CharacterSet kSmalls = 2;     // \p{Ll}
inline constexpr CharacterSet kCaseless = 4;   // \p{Lm}\p{Lo}
inline constexpr CharacterSet kMarks = 8;      // \p{M}
inline constexpr CharacterSet kNumbers = 16;   // \p{N}
inline constexpr CharacterSet kLineEnds = 32;  // [\r\n]
inline constexpr CharacterSet kBlanks = 64;    // [^\S\r\n]
inline constexpr CharacterSet kSigns = 128;    // the rest

inline constexpr CharacterSet kLetters = kCapitals | kSmalls | kCaseless;  // \p{L}
inline constexpr CharacterSet kSpaces = kLineEnds | kBlanks;               // \s
inline constexpr CharacterSet kWordStarts =
    static_cast<CharacterSet>(~(kLineEnds | kLetters | kNumbers));  // [^\r\n\p{L}\p{N}]
inline constexpr CharacterSet kNonSmalls = kCapitals | kCaseless | kMarks;
inline constexpr CharacterSet kNonCapitals = kSmalls | kCaseless | kMarks;

inline CharacterSet SetOfWide(char32_t c) {
  if (IsWhiteSpace(c)) return kBlanks;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kCapitals;
    case UTF8PROC_CATEGORY_LL:
      return kSmalls;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kCaseless;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMarks;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumbers;
    default:
      return kSigns;
  }
}

inline constexpr std::array<CharacterSet, 128> kSetOfAscii = [] {
  std::array<CharacterSet, 128> sets{};
  for (char32_t c = 0; c < sets.size(); ++c) {
    sets[c] = c >= 'A' && c <= 'Z'     ? kCapitals
              : c >= 'a' && c <= 'z'   ? kSmalls
              : c >= '0' && c <= '9'   ? kNumbers
              : c == '\r' || c == '\n' ? kLineEnds
              : IsWhiteSpace(c)        ? kBlanks
                                       : kSigns;
  }
  return sets;
}();

// A text and the classes of its characters.
class ScannedText {
 public:
  struct Character {
    CharacterSet set;  // none at the end of the text
    size_t length;
  };

  explicit ScannedText(std::string_view text) : text_(text) {}

  size_t size() const { return text_.size(); }

  Character At(size_t i) const {
    if (i >= text_.size()) return {0, 0};
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (byte < kSetOfAscii.size()) return {kSetOfAscii[byte], 1};
    const CodePoint c = FirstCodePoint(text_.substr(i));
    return {SetOfWide(c.value), c.length};
  }

  bool IsAt(size_t i, CharacterSet set) const { return (At(i).set & set) != 0; }

  bool HasByte(size_t i, char byte) const { return i < text_.size() && text_[i] == byte; }

  // Where the characters of `set` end that begin at `i`; at most `limit` of them.
  size_t EndOf(CharacterSet set, size_t i, size_t limit = static_cast<size_t>(-1)) const {
    for (; limit > 0; --limit) {
      const Character c = At(i);
      if ((c.set & set) == 0) break;
      i += c.length;
    }
    return i;
  }

  // 's|'t|'re|'ve|'m|'ll|'d: where such a contraction at `i` ends; `i` if there is none. Without regard to case if
  // `any_case`; then the long s, U+017F, is an s too.
  size_t EndOfContraction(size_t i, bool any_case) const {
    if (!HasByte(i, '\'')) return i;
    const auto letter = [&](size_t at) {
      if (at >= text_.size()) return '\0';
      const char c = text_[at];
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    };
    const char first = letter(i + 1), second = letter(i + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return i + 2;
    const bool is_pair =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    const bool is_long_s = any_case && first == '\xC5' && second == '\xBF';
    return is_pair || is_long_s ? i + 3 : i;
  }

  // \s+(?!\S)|\s+: where white space that begins at `i` ends. All but its last character if something follows, which
  // takes the last one along; that one too if it is alone.
  size_t EndOfSpace(size_t i) const {
    size_t end = i, last = i;
    for (Character c = At(i); (c.set & kSpaces) != 0; c = At(end)) {
      last = end;
      end += c.length;
    }
    return end == text_.size() || last == i ? end : last;
  }

  // \s*[\r\n]+: the end of the last line within white space that begins at `i`; `i` if there is none.
  size_t EndOfLines(size_t i) const {
    size_t lines = i;
    for (Character c = At(i); (c.set & kSpaces) != 0; c = At(i)) {
      i += c.length;
      if (c.set == kLineEnds) lines = i;
    }
    return lines;
  }

 private:
  std::string_view text_;
};

// --- GPT-2 -----------------------------------------------------------------------------------------------------------

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct Gpt2Scanner {
  static size_t EndOfPiece(const ScannedText& text, size_t i) {
    if (const size_t end = text.EndOfContraction(i, false); end > i) return end;
    const size_t start = i + text.HasByte(i, ' ');
    const CharacterSet set = text.At(start).set;
    if ((set & kLetters) != 0) return text.EndOf(kLetters, start);
    if ((set & kNumbers) != 0) return text.EndOf(kNumbers, start);
    if ((set & (kMarks | kSigns)) != 0) return text.EndOf(kMarks | kSigns, start);
    return text.EndOfSpace(i);
  }
};

// --- Llama 3, Qwen ---------------------------------------------------------------------------------------------------

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// with kDigits instead of 3, and [...kWord] instead of \p{L} where that is no part of [^\r\n\p{L}\p{N}].
template <size_t kDigits, CharacterSet kWord>
struct Llama3Scanner {
  static constexpr CharacterSet kOthers = static_cast<CharacterSet>(~(kSpaces | kNumbers | kWord));

  static size_t EndOfPiece(const ScannedText& text, size_t i) {
    if (const size_t end = text.EndOfContraction(i, true); end > i) return end;
    const ScannedText::Character first = text.At(i);
    if ((first.set & kWord) != 0) return text.EndOf(kWord, i);
    if ((first.set & kWordStarts) != 0 && text.IsAt(i + first.length, kWord))
      return text.EndOf(kWord, i + first.length);
    if (first.set == kNumbers) return text.EndOf(kNumbers, i, kDigits);
    const size_t start = i + text.HasByte(i, ' ');
    if (text.IsAt(start, kOthers)) return text.EndOf(kLineEnds, text.EndOf(kOthers, start));
    const size_t lines = text.EndOfLines(i);
    return lines > i ? lines : text.EndOfSpace(i);
  }
};

// --- Tekken, o200k ---------------------------------------------------------------------------------------------------

// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
// \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// with kDigits instead of 3, and the contractions only if kContracts.
template <size_t kDigits, bool kContracts>
struct CasedScanner {
  static size_t EndOfPiece(const ScannedText& text, size_t i) {
    if (const size_t word = EndOfWord(text, i); word > i) {
      return kContracts ? text.EndOfContraction(word, true) : word;
    }
    if (text.IsAt(i, kNumbers)) return text.EndOf(kNumbers, i, kDigits);
    const size_t start = i + text.HasByte(i, ' ');
    if (text.IsAt(start, kMarks | kSigns)) return EndOfSigns(text, start);
    const size_t lines = text.EndOfLines(i);
    return lines > i ? lines : text.EndOfSpace(i);
  }

  // The first two alternatives, without contractions; `i` if there is no word.
  static size_t EndOfWord(const ScannedText& text, size_t i) {
    const ScannedText::Character first = text.At(i);
    const size_t start = (first.set & kWordStarts) != 0 ? i + first.length : i;
    // [\p{Lu}...]* takes all it can get, and remembers where the last character ends that [\p{Ll}...]+ could have.
    size_t capitals = start, shared = start;
    for (auto c = text.At(start); (c.set & kNonSmalls) != 0; c = text.At(capitals)) {
      capitals += c.length;
      if ((c.set & kNonCapitals) != 0) shared = capitals;
    }
    if (const size_t end = text.EndOf(kNonCapitals, capitals); end > capitals) return end;
    if (shared > start) return shared;
    if (first.set == kMarks) return start;  // [^\r\n\p{L}\p{N}]? gives it back
    return capitals > start ? capitals : i;
  }

  // [^\s\p{L}\p{N}]+[\r\n/]*
  static size_t EndOfSigns(const ScannedText& text, size_t i) {
    i = text.EndOf(kMarks | kSigns, i);
    while (text.HasByte(i, '/') || text.IsAt(i, kLineEnds)) ++i;
    return i;
  }
};

// --- The table -------------------------------------------------------------------------------------------------------

// Puts all matches in `utf8` into `matches`. The patterns above match everywhere, so they follow each other.
using PatternScanner = void (*)(std::string_view utf8, std::vector<ByteRange>& matches);

template <class Scanner>
void ScanPieces(std::string_view utf8, std::vector<ByteRange>& matches) {
  const ScannedText text(utf8);
  for (size_t i = 0; i < utf8.size();) {
    const size_t end = Scanner::EndOfPiece(text, i);
    matches.push_back({i, end});
    i = end;
  }
}

struct PublishedPattern {
  std::string_view regex;
  PatternScanner scan;
};

inline constexpr std::string_view kSplitGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kSplitLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kSplitQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kSplitQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kSplitTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kSplitGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr PublishedPattern kPublishedPatterns[] = {
    {kSplitGpt2, ScanPieces<Gpt2Scanner>},
    {kSplitLlama3, ScanPieces<Llama3Scanner<3, kLetters>>},
    {kSplitQwen2, ScanPieces<Llama3Scanner<1, kLetters>>},
    {kSplitQwen35, ScanPieces<Llama3Scanner<1, kLetters | kMarks>>},
    {kSplitTekken, ScanPieces<CasedScanner<1, false>>},
    {kSplitGpt4o, ScanPieces<CasedScanner<3, true>>},
};

// Returns the scanner for a regular expression of exactly this text, or null.
inline PatternScanner FindPublishedPattern(std::string_view regex) {
  for (const PublishedPattern& pattern : kPublishedPatterns) {
    if (pattern.regex == regex) return pattern.scan;
  }
  return nullptr;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PUBLISHED_PATTERNS_H_
