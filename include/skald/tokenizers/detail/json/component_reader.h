// SPDX-License-Identifier: Apache-2.0
//
// Reads the small parts of a tokenizer.json: all but the model's vocabulary and merges. Nothing throws but for lack of
// memory; the first thing that is wrong is left as an error in the JsonFields. Pure; safe for concurrent calls.
// Source: the Serialize implementations of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_JSON_COMPONENT_READER_H_
#define SKALD_TOKENIZERS_DETAIL_JSON_COMPONENT_READER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/tokenizers/detail/encoders/input_frames.h"
#include "skald/tokenizers/detail/json/base64.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Token ids go up to here: a hundred times as many as any model has.
inline constexpr int kMaxTokenId = (1 << 24) - 1;

// Sequences may stand inside of sequences, so deep.
inline constexpr int kMaxSequenceDepth = 8;

// Names for the values of an enum, in its order.
template <class Enum, size_t kCount>
Enum ReadEnum(const JsonFields& fields, const char* name, const std::array<std::string_view, kCount>& names,
              std::string_view fallback) {
  const std::string text = fields.String(name, fallback);
  for (size_t i = 0; i < kCount; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  fields.Unsupported(name, text, "one of those that the library has");
  return Enum{};
}

inline constexpr std::array<std::string_view, 5> kBehaviorNames = {"Removed", "Isolated", "MergedWithPrevious",
                                                                   "MergedWithNext", "Contiguous"};
inline constexpr std::array<std::string_view, 3> kSchemeNames = {"always", "first", "never"};

inline TextPattern ReadPattern(const JsonFields& fields) {
  const nlohmann::json* const plain = fields.Find("pattern");
  if (plain != nullptr && plain->is_string()) return {plain->get<std::string>(), false};
  const std::optional<JsonFields> pattern = fields.Object("pattern");
  if (!pattern) {
    if (plain == nullptr) fields.Missing("pattern");
    return {};
  }
  if (pattern->Find("Regex") != nullptr) return {pattern->String("Regex"), true};
  return {pattern->String("String"), false};
}

inline PrependScheme ReadPrependScheme(const JsonFields& fields) {
  const bool prefix = fields.Flag("add_prefix_space", true);  // what older files have
  if (!prefix && fields.Find("prepend_scheme") == nullptr) {
    fields.WrongValue("add_prefix_space", std::string("false"), "true if there is no prepend_scheme");
  }
  return ReadEnum<PrependScheme>(fields, "prepend_scheme", kSchemeNames, "always");
}

inline std::string ReadCharsmap(const JsonFields& fields) {
  const char* const kName = "precompiled_charsmap";
  std::optional<std::string> bytes = FromBase64(fields.String(kName));
  if (!bytes) fields.WrongValue(kName, std::string("something else"), "base64");
  return std::move(bytes).value_or("");
}

inline size_t ReadCount(const JsonFields& fields, const char* name, int fallback) {
  return static_cast<size_t>(fields.Integer(name, 0, std::numeric_limits<int>::max(), fallback));
}

inline std::optional<Normalizer> NormalizerFromJson(const JsonFields& fields, std::string_view type) {
  if (type == "NFC") return normalizer::Unicode{NormalizationForm::kNfc};
  if (type == "NFD") return normalizer::Unicode{NormalizationForm::kNfd};
  if (type == "NFKC") return normalizer::Unicode{NormalizationForm::kNfkc};
  if (type == "NFKD") return normalizer::Unicode{NormalizationForm::kNfkd};
  if (type == "Lowercase") return normalizer::Lowercase{};
  if (type == "Prepend") return normalizer::Prepend{fields.String("prepend")};
  if (type == "Replace") return normalizer::Replace{ReadPattern(fields), fields.String("content")};
  if (type == "Strip") return normalizer::Strip{fields.Flag("strip_left", true), fields.Flag("strip_right", true)};
  if (type == "StripAccents") return normalizer::StripAccents{};
  if (type == "Nmt") return normalizer::Nmt{};
  if (type == "Precompiled") return normalizer::Precompiled{ReadCharsmap(fields)};
  if (type == "ByteLevel") return normalizer::ByteLevel{};
  if (type != "BertNormalizer") return std::nullopt;
  normalizer::Bert bert{fields.Flag("clean_text", true), fields.Flag("handle_chinese_chars", true),
                        fields.Flag("lowercase", true)};
  if (fields.Find("strip_accents") != nullptr) bert.strip_accents = fields.Flag("strip_accents", true);
  return bert;
}

inline std::optional<PreTokenizer> PreTokenizerFromJson(const JsonFields& fields, std::string_view type) {
  using pre_tokenizer::Behavior;
  if (type == "ByteLevel") {
    return pre_tokenizer::ByteLevel{fields.Flag("add_prefix_space", true), fields.Flag("use_regex", true)};
  }
  if (type == "Split") {
    return pre_tokenizer::Split{ReadPattern(fields), ReadEnum<Behavior>(fields, "behavior", kBehaviorNames, ""),
                                fields.Flag("invert", false)};
  }
  if (type == "Digits") return pre_tokenizer::Digits{fields.Flag("individual_digits", false)};
  if (type == "Metaspace") {
    return pre_tokenizer::Metaspace{fields.String("replacement"), ReadPrependScheme(fields),
                                    fields.Flag("split", true)};
  }
  if (type == "Whitespace") return pre_tokenizer::Whitespace{};
  if (type == "WhitespaceSplit") return pre_tokenizer::WhitespaceSplit{};
  if (type == "Punctuation") {
    return pre_tokenizer::Punctuation{ReadEnum<Behavior>(fields, "behavior", kBehaviorNames, "Isolated")};
  }
  if (type == "BertPreTokenizer") return pre_tokenizer::Bert{};
  if (type == "CharDelimiterSplit") return pre_tokenizer::CharDelimiterSplit{fields.String("delimiter")};
  if (type == "UnicodeScripts") return pre_tokenizer::UnicodeScripts{};
  if (type == "FixedLength") return pre_tokenizer::FixedLength{ReadCount(fields, "length", 5)};
  return std::nullopt;
}

inline std::optional<TokenDecoder> DecoderFromJson(const JsonFields& fields, std::string_view type) {
  if (type == "ByteLevel") return token_decoder::ByteLevel{fields.Flag("added_tokens_verbatim", false)};
  if (type == "ByteFallback") return token_decoder::ByteFallback{};
  if (type == "Metaspace") return token_decoder::Metaspace{fields.String("replacement"), ReadPrependScheme(fields)};
  if (type == "Replace") return token_decoder::Replace{ReadPattern(fields), fields.String("content")};
  if (type == "Fuse") return token_decoder::Fuse{};
  if (type == "Strip") {
    return token_decoder::Strip{fields.String("content"), ReadCount(fields, "start", 0), ReadCount(fields, "stop", 0)};
  }
  if (type == "WordPiece") return token_decoder::WordPiece{fields.String("prefix"), fields.Flag("cleanup", true)};
  if (type == "BPEDecoder") return token_decoder::BpeDecoder{fields.String("suffix")};
  if (type == "CTC") {
    return token_decoder::Ctc{fields.String("pad_token"), fields.String("word_delimiter_token"),
                              fields.Flag("cleanup", true)};
  }
  return std::nullopt;
}

// Reads a component, or all of a sequence of them, whose elements lie in the array of the name `elements`.
template <class Component, class Read>
void ReadComponents(const JsonFields& fields, const char* elements, int depth, Read read,
                    std::vector<Component>& components) {
  const std::string type = fields.String("type");
  if (type == "Sequence") {
    if (depth == kMaxSequenceDepth) return fields.Unsupported("type", type, "fewer sequences inside of each other");
    return fields.ForEachObject(
        elements, [&](const JsonFields& element) { ReadComponents(element, elements, depth + 1, read, components); });
  }
  std::optional<Component> component = read(fields, type);
  if (component) return components.push_back(*std::move(component));
  fields.Unsupported("type", type, "what the library calls by a name of its own");
}

inline int32_t ReadTokenId(const JsonFields& fields, const char* name) { return fields.Integer(name, 0, kMaxTokenId); }

// The pair [name, id] of the post-processors of BERT and RoBERTa.
inline int32_t ReadNamedToken(const JsonFields& fields, const char* name) {
  const nlohmann::json* const pair = fields.Find(name);
  const bool is_pair = pair != nullptr && pair->is_array() && pair->size() == 2 && (*pair)[1].is_number_unsigned() &&
                       (*pair)[1].get<uint64_t>() <= static_cast<uint64_t>(kMaxTokenId);
  if (is_pair) return (*pair)[1].get<int32_t>();
  fields.WrongValue(name, std::string("something else"), "a piece and its id");
  return 0;
}

// Appends the parts that one piece of a template is: a text, or the ids of a special token.
inline void ReadTemplatePiece(const JsonFields& piece, const std::optional<JsonFields>& tokens,
                              std::vector<InputPart>& parts) {
  if (const auto text = piece.Object("Sequence")) {
    const int32_t type = text->Integer("type_id", 0, kMaxTokenId, 0);
    return parts.push_back(text->String("id", "A") == "B" ? SecondText(type) : FirstText(type));
  }
  const std::optional<JsonFields> special = piece.Object("SpecialToken");
  if (!special) return piece.Missing("SpecialToken");
  const std::string name = special->String("id");
  const std::optional<JsonFields> token = tokens ? tokens->Object(name.c_str()) : std::nullopt;
  const nlohmann::json* const ids = token ? token->Find("ids") : nullptr;
  if (ids == nullptr || !ids->is_array()) return special->WrongValue("id", name, "one of special_tokens, with ids");
  for (const nlohmann::json& id : *ids) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > static_cast<uint64_t>(kMaxTokenId)) {
      return token->WrongValue("ids", id, "ids of tokens");
    }
    parts.push_back(TokenPart(id.get<int32_t>(), special->Integer("type_id", 0, kMaxTokenId, 0)));
  }
}

inline size_t CountTexts(const std::vector<InputPart>& parts, InputPart::Content text) {
  const auto is_it = [text](const InputPart& part) { return part.content == text; };
  return static_cast<size_t>(std::count_if(parts.begin(), parts.end(), is_it));
}

// Two post-processors in a row nest what one text gets. How they would join two texts is not written down anywhere.
inline void SetPair(std::vector<InputPart> pair, bool is_first, TokenizerSpec& spec) {
  spec.pair = is_first ? std::move(pair) : std::vector<InputPart>();
}

inline void ReadTemplate(const JsonFields& fields, bool is_first, TokenizerSpec& spec) {
  using Content = InputPart::Content;
  const std::optional<JsonFields> tokens = fields.Object("special_tokens");
  std::vector<InputPart> single, pair;
  fields.ForEachObject("single", [&](const JsonFields& piece) { ReadTemplatePiece(piece, tokens, single); });
  fields.ForEachObject("pair", [&](const JsonFields& piece) { ReadTemplatePiece(piece, tokens, pair); });
  const size_t texts = CountTexts(single, Content::kFirst) + CountTexts(single, Content::kSecond);
  if (texts != 1) fields.WrongValue("single", std::to_string(texts) + " texts", "a template with one text");
  if (texts == 1) SetSingle(single, spec);
  const bool joins = CountTexts(pair, Content::kFirst) == 1 && CountTexts(pair, Content::kSecond) == 1;
  SetPair(joins ? std::move(pair) : std::vector<InputPart>(), is_first, spec);
}

inline void ReadBertProcessor(const JsonFields& fields, FrameForm form, bool is_first, TokenizerSpec& spec) {
  const int32_t cls = ReadNamedToken(fields, "cls"), sep = ReadNamedToken(fields, "sep");
  SetSingle(ClassifiedText(cls, sep), spec);
  SetPair(ClassifiedPair(cls, sep, form), is_first, spec);
}

// `processors` counts those that put tokens around texts.
inline void ReadPostProcessor(const JsonFields& fields, int depth, int& processors, TokenizerSpec& spec) {
  const std::string type = fields.String("type");
  if (type == "Sequence") {
    if (depth == kMaxSequenceDepth) return fields.Unsupported("type", type, "fewer sequences inside of each other");
    return fields.ForEachObject("processors",
                                [&](const JsonFields& part) { ReadPostProcessor(part, depth + 1, processors, spec); });
  }
  if (type == "ByteLevel") return;  // changes offsets only
  const bool is_first = processors++ == 0;
  if (type == "TemplateProcessing") return ReadTemplate(fields, is_first, spec);
  if (type != "BertProcessing" && type != "RobertaProcessing") {
    return fields.Unsupported("type", type, "ByteLevel, TemplateProcessing, BertProcessing and RobertaProcessing");
  }
  ReadBertProcessor(fields, type == "BertProcessing" ? FrameForm::kBert : FrameForm::kRoberta, is_first, spec);
}

inline AddedToken ReadAddedToken(const JsonFields& fields) {
  AddedToken token;
  token.content = fields.String("content");
  token.id = ReadTokenId(fields, "id");
  token.single_word = fields.Flag("single_word", false);
  token.lstrip = fields.Flag("lstrip", false);
  token.rstrip = fields.Flag("rstrip", false);
  token.special = fields.Flag("special", false);
  token.normalized = fields.Flag("normalized", !token.special);
  return token;
}

// All options of a model but its vocabulary and merges. `has_merges` and `has_scores` tell of files without a type.
inline TokenModel ReadModelOptions(const JsonFields& fields, bool has_merges, bool has_scores) {
  const auto text_if_any = [&fields](const char* name) -> std::optional<std::string> {
    return fields.Find(name) == nullptr ? std::nullopt : std::optional<std::string>(fields.String(name));
  };
  std::string type = fields.String("type", "");
  if (type.empty()) type = has_scores ? "Unigram" : has_merges ? "BPE" : "WordLevel";
  if (type == "BPE") {
    token_model::Bpe bpe;
    bpe.unk_token = text_if_any("unk_token");
    bpe.continuing_subword_prefix = fields.String("continuing_subword_prefix", "");
    bpe.end_of_word_suffix = fields.String("end_of_word_suffix", "");
    bpe.fuse_unk = fields.Flag("fuse_unk", false);
    bpe.byte_fallback = fields.Flag("byte_fallback", false);
    bpe.ignore_merges = fields.Flag("ignore_merges", false);
    return bpe;
  }
  if (type == "Unigram") {
    token_model::Unigram unigram;
    if (fields.Find("unk_id") != nullptr) unigram.unk_id = ReadTokenId(fields, "unk_id");
    unigram.byte_fallback = fields.Flag("byte_fallback", false);
    // Of PLaMo's tokenizers, which have no tokenizer.json of their own.
    if (fields.Find("unknown_cost") != nullptr) {
      unigram.unknown_cost = static_cast<uint32_t>(fields.Integer("unknown_cost", 0, std::numeric_limits<int>::max()));
    }
    unigram.longest_first = fields.Flag("longest_first", false);
    return unigram;
  }
  if (type == "WordLevel") return token_model::WordLevel{text_if_any("unk_token")};
  if (type != "WordPiece") fields.Unsupported("type", type, "BPE, Unigram, WordLevel and WordPiece");
  return token_model::WordPiece{fields.String("unk_token", "[UNK]"), fields.String("continuing_subword_prefix", "##"),
                                ReadCount(fields, "max_input_chars_per_word", 100)};
}

// Reads all but the model.
inline void ReadSmallParts(const JsonFields& root, TokenizerSpec& spec) {
  root.ForEachObject("added_tokens",
                     [&spec](const JsonFields& token) { spec.added_tokens.push_back(ReadAddedToken(token)); });
  if (const auto part = root.Object("normalizer")) {
    ReadComponents(*part, "normalizers", 0, NormalizerFromJson, spec.normalizers);
  }
  if (const auto part = root.Object("pre_tokenizer")) {
    ReadComponents(*part, "pretokenizers", 0, PreTokenizerFromJson, spec.pre_tokenizers);
  }
  spec.pair = PlainPair();
  int processors = 0;
  if (const auto part = root.Object("post_processor")) ReadPostProcessor(*part, 0, processors, spec);
  if (const auto part = root.Object("decoder")) {
    ReadComponents(*part, "decoders", 0, DecoderFromJson, spec.decoders);
  }
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_JSON_COMPONENT_READER_H_
