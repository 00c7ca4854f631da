// SPDX-License-Identifier: Apache-2.0
//
// The pattern of the pre-tokenizer UnicodeScripts, which cuts a text where its script changes. Kana count as Han, and
// so does U+30FC; spaces, and characters that no script has, go on with the script before them, and are dropped before
// the first.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_SCRIPT_PATTERN_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_SCRIPT_PATTERN_H_

#include <string>
#include <string_view>

namespace skald::internal {

// One alternative for each script that Oniguruma knows.
inline std::string ScriptPattern() {
  static constexpr std::string_view kScripts =
      "Common Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya "
      "Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee "
      "Canadian_Aboriginal Ogham Runic Khmer Mongolian Bopomofo Yi Old_Italic Gothic Deseret Inherited Tagalog Hanunoo "
      "Buhid Tagbanwa Limbu Tai_Le Linear_B Ugaritic Shavian Osmanya Cypriot Braille Buginese Coptic New_Tai_Lue "
      "Glagolitic Tifinagh Syloti_Nagri Old_Persian Kharoshthi Balinese Cuneiform Phoenician Phags_Pa Nko Sundanese "
      "Lepcha Ol_Chiki Vai Saurashtra Kayah_Li Rejang Lycian Carian Lydian Cham Tai_Tham Tai_Viet Avestan "
      "Egyptian_Hieroglyphs Samaritan Lisu Bamum Javanese Meetei_Mayek Imperial_Aramaic Old_South_Arabian "
      "Inscriptional_Parthian Inscriptional_Pahlavi Old_Turkic Kaithi Batak Brahmi Mandaic Chakma Meroitic_Cursive "
      "Meroitic_Hieroglyphs Miao Sharada Sora_Sompeng Takri Caucasian_Albanian Bassa_Vah Duployan Elbasan Grantha "
      "Pahawh_Hmong Khojki Linear_A Mahajani Manichaean Mende_Kikakui Modi Mro Old_North_Arabian Nabataean Palmyrene "
      "Pau_Cin_Hau Old_Permic Psalter_Pahlavi Siddham Khudawadi Tirhuta Warang_Citi Ahom Anatolian_Hieroglyphs Hatran "
      "Multani Old_Hungarian SignWriting Adlam Bhaiksuki Marchen Newa Osage Tangut ";
  const auto alternative = [](const std::string& of) { return "[" + of + "&&[^ ]][" + of + "\\p{Unknown} ]*"; };
  std::string pattern = alternative("\\p{Han}\\p{Hiragana}\\p{Katakana}\\u30FC");
  for (std::string_view rest = kScripts; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(' '));
    rest.remove_prefix(name.size() + 1);
    std::string of = "\\p{" + std::string(name) + "}";
    if (name == "Common") of += "&&[^\\u30FC]";
    pattern += "|" + (name == "Common" ? "[" + of + "&&[^ ]](?:[" + of + "]|[\\p{Unknown} ])*" : alternative(of));
  }
  return pattern;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_SCRIPT_PATTERN_H_
