// SPDX-License-Identifier: Apache-2.0
//
// The byte-level tokenizer of listed merges that GGUF files call "gpt2" (Llama 3, Qwen, DeepSeek, Falcon), as a
// TokenizerSpec. Types of pieces as in llama.cpp: control pieces and the unknown one are parsed only where special
// tokens are asked for, user-defined ones always, before the text is split. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_BYTE_PAIRS_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_BYTE_PAIRS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/gguf/gguf_pre_tokenizers.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Pieces that steer a model by their very names: ends of turns and of texts, and those around a gap to be filled.
// Converters give some of them other types.
inline bool NamesControlPiece(std::string_view text) {
  static constexpr std::string_view kNames[] = {
      "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<|endoftext|>",
      "<|end_of_text|>", "<|eom_id|>", "<EOT>", "_<EOT>", "<end_of_utterance>",
      ("<\xEF\xBD\x9C"
       "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"),
      // before, after and between, as Qwen, Granite, DeepSeek, CodeLlama and GLM write them
      "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<PRE>", "\xE2\x96\x81<PRE>", "<|code_prefix|>",
      "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<SUF>", "\xE2\x96\x81<SUF>", "<|code_suffix|>",
      "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<MID>", "\xE2\x96\x81<MID>", "<|code_middle|>",
      ("<\xEF\xBD\x9C"
       "fim\xE2\x96\x81"
       "begin\xEF\xBD\x9C>"),
      ("<\xEF\xBD\x9C"
       "fim\xE2\x96\x81hole\xEF\xBD\x9C>"),
      ("<\xEF\xBD\x9C"
       "fim\xE2\x96\x81"
       "end\xEF\xBD\x9C>"),
      // padding, and names of repositories and files
      "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>",
      "<reponame>", "<|file_sep|>"};
  return std::find(std::begin(kNames), std::end(kNames), text) != std::end(kNames);
}

inline void ReadGgufPieces(const GgufTokenizerReader& reader, TokenizerSpec& spec) {
  const size_t count = reader.SizeOf("tokens");
  reader.ReadStrings("tokens", count, [&](size_t i, const std::string& text) {
    // No text has an empty piece, but files fill gaps with them.
    spec.vocabulary.Add(text.empty() ? "[EMPTY_" + std::to_string(i) + "]" : text, static_cast<int32_t>(i));
  });
  const std::vector<GgufTokenType> types = reader.ReadTypes(count);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const std::string_view text = spec.vocabulary.texts[i];
    const bool is_special =
        types[i] == GgufTokenType::kControl || types[i] == GgufTokenType::kUnknown || NamesControlPiece(text);
    if (is_special || types[i] == GgufTokenType::kUserDefined) {
      spec.added_tokens.push_back({.content = std::string(text), .id = spec.vocabulary.ids[i], .special = is_special});
    }
  }
}

// Left and right of a merge have one space between them; the left one may begin with another.
inline TextList ReadGgufMerges(const GgufTokenizerReader& reader) {
  TextList merges;
  const size_t count = reader.SizeOf("merges");
  reader.Read("merges", count, "strings of two pieces with a space between them",
              [&](size_t, const nlohmann::json& merge) {
                if (!merge.is_string()) return false;
                const std::string_view both = merge.get_ref<const std::string&>();
                const size_t space = both.find(' ', 1);
                if (space == both.npos) return false;
                merges.Add(both.substr(0, space));
                merges.Add(both.substr(space + 1));
                return true;
              });
  return merges;
}

// Reads the ids that begin, end and fill texts, of a spec with its vocabulary.
inline void ReadGgufMarkers(const GgufTokenizerReader& reader, bool adds_bos, TokenizerSpec& spec) {
  const size_t count = spec.vocabulary.texts.size();
  spec.bos_id = reader.TokenId("bos_token_id", count);
  spec.eos_id = reader.TokenId("eos_token_id", count);
  spec.unk_id = reader.TokenId("unknown_token_id", count);
  spec.pad_id = reader.TokenId("padding_token_id", count);
  const bool adds_eos = reader.fields().Flag("add_eos_token", false);
  if (adds_bos && spec.bos_id) spec.prefix.push_back(*spec.bos_id);
  if (adds_eos && spec.eos_id) spec.suffix.push_back(*spec.eos_id);
}

// Returns the split pattern of a pre-tokenizer's name; notes an error for an unknown name.
inline const GgufPreTokenizer* ReadGgufPreTokenizer(const GgufTokenizerReader& reader) {
  const std::string name = reader.fields().String("pre", "default");
  const GgufPreTokenizer* const found = FindGgufPreTokenizer(name);
  if (found == nullptr) reader.fields().Unsupported("pre", name, "one of " + GgufPreTokenizerNames());
  return found;
}

// Returns the tokenizer step by step. Errors: kUnsupported for a pre-tokenizer of an unknown name; kNotFound and
// kDataLoss for values that are missing or cannot be right.
inline Result<TokenizerSpec> BytePairsFromGguf(const GgufTokenizerReader& reader) {
  TokenizerSpec spec;
  const GgufPreTokenizer* const pre_tokenizer = ReadGgufPreTokenizer(reader);
  if (!reader.ok()) return reader.failure();
  if (pre_tokenizer->normalizes) spec.normalizers.emplace_back(normalizer::Unicode{NormalizationForm::kNfc});
  for (const std::string_view split : pre_tokenizer->splits) {
    if (split.empty()) break;
    spec.pre_tokenizers.emplace_back(pre_tokenizer::Split{.pattern = {std::string(split), true}});
  }
  spec.pre_tokenizers.emplace_back(pre_tokenizer::ByteLevel{.add_prefix_space = false, .use_regex = false});
  spec.decoders.emplace_back(token_decoder::ByteLevel{.added_tokens_verbatim = true});

  ReadGgufPieces(reader, spec);
  token_model::Bpe model;
  model.ignore_merges = pre_tokenizer->ignore_merges;
  model.merges = ReadGgufMerges(reader);
  spec.model = std::move(model);

  ReadGgufMarkers(reader, reader.fields().Flag("add_bos_token", pre_tokenizer->add_bos), spec);
  if (!reader.ok()) return reader.failure();
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_BYTE_PAIRS_H_
