// SPDX-License-Identifier: Apache-2.0
//
// The split patterns for the names in tokenizer.ggml.pre: GGUF files do not hold the split patterns of their tokenizer,
// only such a name. The names are those that llama.cpp knows (llama-vocab.cpp). If its regular expressions approximate
// those of the model's publisher, the publisher's are used here. Pure data.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PRE_TOKENIZERS_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PRE_TOKENIZERS_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "skald/tokenizers/detail/published_patterns.h"

namespace skald::internal {

// Which split a text goes through, and what else follows from the name.
struct GgufPreTokenizer {
  std::string_view names;                  // with a space after each
  std::array<std::string_view, 6> splits;  // regular expressions, each on the pieces of the one before; "" is none
  bool normalizes = false;                 // all models of that name bring texts into NFC
  bool ignore_merges = false;              // a piece that is in the vocabulary is a token without merging
  bool add_bos = false;                    // unless add_bos_token says otherwise
};

// --- Regular expressions of more than one name, beside those of published_patterns.h ------------------------------

// Hangul, full-width punctuation, Bopomofo, Chinese with kana; then as GPT-4o, but one digit at a time.
inline constexpr std::string_view kSplitYoutuScripts =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+)"
    R"(|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f})"
    R"(\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
inline constexpr std::string_view kSplitYoutu =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Of words only what is no Chinese character.
inline constexpr std::string_view kSplitKimiK2 =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The steps after the splits of DeepSeek V3 and of Arcee's models.
inline constexpr std::string_view kSplitSignsBeforeLetters =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kSplitChineseAndKana = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
inline constexpr std::string_view kSplitChineseAndHangul = R"([\x{4e00}-\x{9fa5}\x{0800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";
inline constexpr std::string_view kSplitAsianScripts =
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{8c48}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff}\x{ff65}-\x{ff9f})"
    R"(\x{2f00}-\x{2fdf}\x{0e40}-\x{0e7f}\x{0e80}-\x{0eff}\x{1780}-\x{17ff}\x{1000}-\x{109f}\x{aa60}-\x{aa7f})"
    R"(\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)";
// Numbers in groups of three, counted from the right.
inline constexpr std::string_view kSplitThousands = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";
inline constexpr std::string_view kSplitBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{0964}\x{06d4}\x{060c})]+)";
// Letters of DeepSeek LLM: those that have a case.
inline constexpr std::string_view kSplitCasedLetters =
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
    R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a})"
    R"(\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b})"
    R"(\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc})"
    R"(\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107})"
    R"(\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134})"
    R"(\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4})"
    R"(\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787})"
    R"(\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a})"
    R"(\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2})"
    R"(\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)";

// --- The table -----------------------------------------------------------------------------------------------------

inline constexpr GgufPreTokenizer kGgufPreTokenizers[] = {
    {.names = "falcon-h1 falcon3 jina-v5-nano laguna lfm2 llama-bpe llama-v3 llama3 midm-2.0 pixtral ",
     .splits = {kSplitLlama3},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "chatglm-bpe glm4 dbrx smaug-bpe ", .splits = {kSplitLlama3}},
    {.names = "deepseek-r1-qwen f2llmv2 kormo megrez openpangu qwen2 ", .splits = {kSplitQwen2}, .normalizes = true},
    {.names = "stablelm2 hunyuan solar-open grok-2 ", .splits = {kSplitQwen2}},
    {.names = "qwen35 ", .splits = {kSplitQwen35}, .normalizes = true},
    {.names = "tekken ", .splits = {kSplitTekken}, .ignore_merges = true, .add_bos = true},
    {.names = "gpt-4o kanana2 llama4 minimax-m2 ", .splits = {kSplitGpt4o}},
    {.names = "kimi-k2 ", .splits = {kSplitKimiK2}},
    {.names = "a.x-4.0 exaone4 gigachat gpt-2 jina-de jina-es jina-v1-en jina-v2-code jina-v2-de "
              "jina-v2-es mellum modern-bert phi-2 roberta-bpe mpt olmo jais trillion granite-docling ",
     .splits = {kSplitGpt2}},
    {.names = "starcoder refact cohere2_moe command-r smollm codeshell exaone minerva-7b mellum2 ",
     .splits = {R"(\p{N})", kSplitGpt2}},
    {.names = "default ", .splits = {R"([\p{P}\$\+<=>\^~\|]+)", kSplitGpt2, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
    {.names = "falcon ", .splits = {R"([\p{P}\$\+<=>\^~\|`]+)", kSplitGpt2, R"([0-9][0-9][0-9])"}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm ",
     .splits = {R"(\p{N}{1,3})", kSplitChineseAndKana, kSplitSignsBeforeLetters}},
    {.names = "deepseek-llm ",
     .splits = {R"([\r\n])", kSplitCasedLetters,
                R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)", R"((?<!\s)\s+$)",
                kSplitChineseAndHangul, R"(\p{N}+)"}},
    {.names = "deepseek-coder ",
     .splits = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kSplitChineseAndHangul, R"(\p{N})"}},
    {.names = "afmoe ", .splits = {kSplitThousands, kSplitAsianScripts, kSplitSignsBeforeLetters}},
    {.names = "tiny_aya ", .splits = {R"(\d{1,3}(?=(?:\d{3})*\b))", kSplitGpt4o}},
    {.names = "youtu ", .splits = {kSplitYoutuScripts, kSplitYoutu}, .ignore_merges = true},
    {.names = "bloom poro-chat gpt3-finnish ", .splits = {kSplitBloom}},
    {.names = "viking ", .splits = {kSplitBloom, R"(\p{N})"}},
    {.names = "chameleon ",
     .splits = {R"(<sentinel:[0-9]+>)", R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)", R"(([\t\n]|    |  ))", R"(\p{N})",
                R"([\p{P}!-/:-@\[-`{-~])", kSplitGpt2},
     .add_bos = true},
    {.names = "superbpe ", .splits = {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
    {.names = "bailingmoe bailingmoe2 llada-moe ",
     .splits = {R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
                R"(|\s*[\r\n]|\s+(?!\S)|\s+)"}},
    {.names = "exaone-moe ",
     .splits = {R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
                R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n])"
                R"(|\s+(?!\S)|\s+)"}},
    {.names = "seed-coder ",
     .splits = {R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                R"(| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
    {.names = "jais-2 ",
     .splits = {R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S))"
                R"(|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
};

// Returns the patterns of a name, or null.
inline const GgufPreTokenizer* FindGgufPreTokenizer(std::string_view name) {
  const std::string wanted = " " + std::string(name) + " ";
  if (name.empty() || name.find(' ') != name.npos) return nullptr;
  for (const GgufPreTokenizer& pre_tokenizer : kGgufPreTokenizers) {
    if ((" " + std::string(pre_tokenizer.names)).find(wanted) != std::string::npos) return &pre_tokenizer;
  }
  return nullptr;
}

// All names, for an error message.
inline std::string GgufPreTokenizerNames() {
  std::string names;
  for (const GgufPreTokenizer& pre_tokenizer : kGgufPreTokenizers) names += pre_tokenizer.names;
  names.pop_back();
  return names;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_PRE_TOKENIZERS_H_
