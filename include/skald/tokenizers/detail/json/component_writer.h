// SPDX-License-Identifier: Apache-2.0
//
// Writes the small parts of a TokenizerSpec as component_reader.h reads them: as a tokenizer.json without vocabulary
// and merges. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_JSON_COMPONENT_WRITER_H_
#define SKALD_TOKENIZERS_DETAIL_JSON_COMPONENT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "skald/tokenizers/detail/json/base64.h"
#include "skald/tokenizers/detail/json/component_reader.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// A JSON object as text, field by field.
class JsonText {
 public:
  explicit JsonText(std::string_view type = {}) {
    if (!type.empty()) String("type", type);
  }

  JsonText& String(std::string_view name, std::string_view value) { return Raw(name, Quoted(value)); }
  JsonText& Flag(std::string_view name, bool value) { return Raw(name, value ? "true" : "false"); }
  JsonText& Number(std::string_view name, uint64_t value) { return Raw(name, std::to_string(value)); }
  JsonText& Pattern(const TextPattern& pattern) {
    return Raw("pattern", JsonText().String(pattern.is_regex ? "Regex" : "String", pattern.text).text());
  }
  JsonText& Raw(std::string_view name, std::string_view json) {
    if (!fields_.empty()) fields_ += ',';
    fields_ += Quoted(name);
    fields_.append(":").append(json);
    return *this;
  }

  std::string text() const { return "{" + fields_ + "}"; }

  static std::string Quoted(std::string_view text) { return nlohmann::json(text).dump(); }

 private:
  std::string fields_;
};

template <class Part, class Write>
std::string JsonList(const std::vector<Part>& parts, Write write) {
  std::string list = "[";
  for (const Part& part : parts) {
    if (list.size() > 1) list += ',';
    list += write(part);
  }
  return list + "]";
}

// Calls the one of `writers` that takes what a variant holds.
template <class... Writers>
struct EachOf : Writers... {
  using Writers::operator()...;
};
template <class... Writers>
EachOf(Writers...) -> EachOf<Writers...>;

inline std::string_view BehaviorName(pre_tokenizer::Behavior behavior) {
  return kBehaviorNames[static_cast<size_t>(behavior)];
}
inline std::string_view SchemeName(PrependScheme scheme) { return kSchemeNames[static_cast<size_t>(scheme)]; }

inline std::string WriteNormalizer(const Normalizer& step) {
  static constexpr std::string_view kForms[] = {"NFC", "NFD", "NFKC", "NFKD"};
  const auto write = EachOf{
      [](const normalizer::Unicode& n) { return JsonText(kForms[static_cast<size_t>(n.form)]); },
      [](const normalizer::Lowercase&) { return JsonText("Lowercase"); },
      [](const normalizer::Prepend& n) { return JsonText("Prepend").String("prepend", n.text); },
      [](const normalizer::Replace& n) { return JsonText("Replace").Pattern(n.pattern).String("content", n.content); },
      [](const normalizer::Strip& n) {
        return JsonText("Strip").Flag("strip_left", n.left).Flag("strip_right", n.right);
      },
      [](const normalizer::StripAccents&) { return JsonText("StripAccents"); },
      [](const normalizer::Nmt&) { return JsonText("Nmt"); },
      [](const normalizer::Bert& n) {
        JsonText text("BertNormalizer");
        text.Flag("clean_text", n.clean_text).Flag("handle_chinese_chars", n.handle_chinese_chars);
        if (n.strip_accents) text.Flag("strip_accents", *n.strip_accents);
        return text.Flag("lowercase", n.lowercase);
      },
      [](const normalizer::Precompiled& n) {
        return JsonText("Precompiled").String("precompiled_charsmap", ToBase64(n.charsmap));
      },
      [](const normalizer::ByteLevel&) { return JsonText("ByteLevel"); },
  };
  return std::visit(write, step).text();
}

inline std::string WritePreTokenizer(const PreTokenizer& step) {
  using namespace pre_tokenizer;
  const auto write = EachOf{
      [](const ByteLevel& p) {
        return JsonText("ByteLevel").Flag("add_prefix_space", p.add_prefix_space).Flag("use_regex", p.use_regex);
      },
      [](const Split& p) {
        return JsonText("Split")
            .Pattern(p.pattern)
            .String("behavior", BehaviorName(p.behavior))
            .Flag("invert", p.invert);
      },
      [](const Digits& p) { return JsonText("Digits").Flag("individual_digits", p.individual_digits); },
      [](const Metaspace& p) {
        return JsonText("Metaspace")
            .String("replacement", p.replacement)
            .String("prepend_scheme", SchemeName(p.prepend_scheme))
            .Flag("split", p.split);
      },
      [](const Whitespace&) { return JsonText("Whitespace"); },
      [](const WhitespaceSplit&) { return JsonText("WhitespaceSplit"); },
      [](const Punctuation& p) { return JsonText("Punctuation").String("behavior", BehaviorName(p.behavior)); },
      [](const Bert&) { return JsonText("BertPreTokenizer"); },
      [](const CharDelimiterSplit& p) { return JsonText("CharDelimiterSplit").String("delimiter", p.delimiter); },
      [](const UnicodeScripts&) { return JsonText("UnicodeScripts"); },
      [](const FixedLength& p) { return JsonText("FixedLength").Number("length", p.length); },
  };
  return std::visit(write, step).text();
}

inline std::string WriteDecoder(const TokenDecoder& step) {
  using namespace token_decoder;
  const auto write = EachOf{
      [](const ByteLevel& d) { return JsonText("ByteLevel").Flag("added_tokens_verbatim", d.added_tokens_verbatim); },
      [](const ByteFallback&) { return JsonText("ByteFallback"); },
      [](const Metaspace& d) {
        return JsonText("Metaspace")
            .String("replacement", d.replacement)
            .String("prepend_scheme", SchemeName(d.prepend_scheme));
      },
      [](const Replace& d) { return JsonText("Replace").Pattern(d.pattern).String("content", d.content); },
      [](const Fuse&) { return JsonText("Fuse"); },
      [](const Strip& d) {
        return JsonText("Strip").String("content", d.content).Number("start", d.start).Number("stop", d.stop);
      },
      [](const token_decoder::WordPiece& d) {
        return JsonText("WordPiece").String("prefix", d.prefix).Flag("cleanup", d.cleanup);
      },
      [](const BpeDecoder& d) { return JsonText("BPEDecoder").String("suffix", d.suffix); },
      [](const Ctc& d) {
        return JsonText("CTC")
            .String("pad_token", d.pad_token)
            .String("word_delimiter_token", d.word_delimiter_token)
            .Flag("cleanup", d.cleanup);
      },
  };
  return std::visit(write, step).text();
}

inline std::string WriteModelOptions(const TokenModel& model) {
  const auto with_unk = [](JsonText text, const std::optional<std::string>& unk) {
    return unk ? text.String("unk_token", *unk) : text;
  };
  const auto write = EachOf{
      [&](const token_model::Bpe& m) {
        return with_unk(JsonText("BPE"), m.unk_token)
            .String("continuing_subword_prefix", m.continuing_subword_prefix)
            .String("end_of_word_suffix", m.end_of_word_suffix)
            .Flag("fuse_unk", m.fuse_unk)
            .Flag("byte_fallback", m.byte_fallback)
            .Flag("ignore_merges", m.ignore_merges);
      },
      [](const token_model::Unigram& m) {
        JsonText text("Unigram");
        if (m.unk_id) text.Number("unk_id", static_cast<uint64_t>(*m.unk_id));
        text.Flag("byte_fallback", m.byte_fallback);
        if (m.unknown_cost) text.Number("unknown_cost", *m.unknown_cost);
        return m.longest_first ? text.Flag("longest_first", true) : text;
      },
      [&](const token_model::WordLevel& m) { return with_unk(JsonText("WordLevel"), m.unk_token); },
      [](const token_model::WordPiece& m) {
        return JsonText("WordPiece")
            .String("unk_token", m.unk_token)
            .String("continuing_subword_prefix", m.continuing_subword_prefix)
            .Number("max_input_chars_per_word", m.max_input_chars_per_word);
      },
  };
  return std::visit(write, model).text();
}

inline std::string WriteAddedToken(const AddedToken& token) {
  return JsonText()
      .String("content", token.content)
      .Number("id", static_cast<uint64_t>(token.id))
      .Flag("single_word", token.single_word)
      .Flag("lstrip", token.lstrip)
      .Flag("rstrip", token.rstrip)
      .Flag("normalized", token.normalized)
      .Flag("special", token.special)
      .text();
}

inline std::string WriteInputParts(const std::vector<InputPart>& parts) {
  return JsonList(parts, [](const InputPart& part) {
    const bool is_token = part.content == InputPart::Content::kToken;
    const std::string id = is_token ? std::to_string(part.id) : part.content == InputPart::Content::kSecond ? "B" : "A";
    JsonText piece;
    piece.String("id", id).Number("type_id", static_cast<uint64_t>(part.type));
    return JsonText().Raw(is_token ? "SpecialToken" : "Sequence", piece.text()).text();
  });
}

inline std::vector<InputPart> SingleParts(const TokenizerSpec& spec) {
  std::vector<InputPart> parts;
  const auto add = [&](InputPart::Content content, int32_t id) {
    parts.push_back({content, id, spec.types.empty() ? 0 : spec.types[parts.size()]});
  };
  for (const int32_t id : spec.prefix) add(InputPart::Content::kToken, id);
  add(InputPart::Content::kFirst, 0);
  for (const int32_t id : spec.suffix) add(InputPart::Content::kToken, id);
  return parts;
}

// A template whose tokens are named by their ids.
inline std::string WritePostProcessor(const TokenizerSpec& spec) {
  const std::vector<InputPart> single = SingleParts(spec);
  std::set<int32_t> ids;
  for (const std::vector<InputPart>* const parts : {&single, &spec.pair}) {
    for (const InputPart& part : *parts) {
      if (part.content == InputPart::Content::kToken) ids.insert(part.id);
    }
  }
  JsonText tokens;
  for (const int32_t id : ids) {
    const std::string name = std::to_string(id);
    tokens.Raw(name, JsonText().Raw("ids", "[" + name + "]").text());
  }
  return JsonText("TemplateProcessing")
      .Raw("single", WriteInputParts(single))
      .Raw("pair", WriteInputParts(spec.pair))
      .Raw("special_tokens", tokens.text())
      .text();
}

inline std::string WriteSmallParts(const TokenizerSpec& spec) {
  const auto sequence = [](std::string_view name, const std::string& parts) {
    return JsonText("Sequence").Raw(name, parts).text();
  };
  JsonText text;
  text.Raw("added_tokens", JsonList(spec.added_tokens, WriteAddedToken))
      .Raw("normalizer", sequence("normalizers", JsonList(spec.normalizers, WriteNormalizer)))
      .Raw("pre_tokenizer", sequence("pretokenizers", JsonList(spec.pre_tokenizers, WritePreTokenizer)))
      .Raw("post_processor", WritePostProcessor(spec))
      .Raw("decoder", sequence("decoders", JsonList(spec.decoders, WriteDecoder)))
      .Raw("model", WriteModelOptions(spec.model));
  const auto id = [&text](std::string_view name, const std::optional<int32_t>& value) {
    if (value) text.Number(name, static_cast<uint64_t>(*value));
  };
  id("bos_id", spec.bos_id);
  id("eos_id", spec.eos_id);
  id("unk_id", spec.unk_id);
  id("pad_id", spec.pad_id);
  return text.text();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_JSON_COMPONENT_WRITER_H_
