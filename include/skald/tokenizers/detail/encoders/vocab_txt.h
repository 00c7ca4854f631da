// SPDX-License-Identifier: Apache-2.0
//
// Reads vocab.txt, which old models of BERT's kind have alone: a word piece in each line, its id the number of the line
// from 0 on. The tokenizer_config.json beside it says the rest. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_ENCODERS_VOCAB_TXT_H_
#define SKALD_TOKENIZERS_DETAIL_ENCODERS_VOCAB_TXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/encoders/bert_steps.h"
#include "skald/tokenizers/detail/encoders/input_frames.h"
#include "skald/tokenizers/detail/json/component_reader.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

inline constexpr std::string_view kVocabTxt = "vocab.txt";

// The lines of a text, as Python reads them: "\r\n" and "\r" end one too.
inline std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find_first_of("\r\n");
    lines.push_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return lines;
}

// Of lines with the same piece the last one counts.
inline Result<std::unordered_map<std::string_view, int32_t>> IdsOfLines(std::string_view text) {
  const std::vector<std::string_view> lines = LinesOf(text);
  if (lines.size() > static_cast<size_t>(kMaxTokenId) + 1) {
    return Fail(ErrorCode::kDataLoss,
                "has " + std::to_string(lines.size()) + " lines, more than " + std::to_string(kMaxTokenId + 1));
  }
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (ValidUtf8Prefix(lines[i]) != lines[i].size()) {
      return Fail(ErrorCode::kDataLoss, "line " + std::to_string(i + 1) + " is no UTF-8, expected a word piece");
    }
    if (!lines[i].empty()) ids[lines[i]] = static_cast<int32_t>(i);
  }
  return ids;
}

// The names of special pieces, where tokenizer_config.json does not say them, and how two texts are joined.
struct VocabTxtForm {
  std::string_view cls, sep, pad, mask;
  FrameForm frame;
  bool mask_takes_space;  // before it
};
inline constexpr VocabTxtForm kBertForm = {"[CLS]", "[SEP]", "[PAD]", "[MASK]", FrameForm::kBert, false};
inline constexpr VocabTxtForm kMpnetForm = {"<s>", "</s>", "<pad>", "<mask>", FrameForm::kRoberta, true};

// Returns the tokenizer step by step. Errors: kDataLoss for what is no list of word pieces or lacks those that every
// text needs; kUnsupported for a tokenizer of another class. They continue a sentence about the file.
inline Result<TokenizerSpec> ReadVocabTxt(std::string_view text, const TokenizerConfig& config) {
  constexpr std::array<std::string_view, 4> kClasses = {"Bert", "DistilBert", "Electra", "MPNet"};
  SKALD_TRY(CheckTokenizerClass(config, kClasses));
  const bool is_mpnet = config.tokenizer_class.value_or("").starts_with("MPNet");
  const VocabTxtForm& form = is_mpnet ? kMpnetForm : kBertForm;
  SKALD_ASSIGN(const auto ids, IdsOfLines(text));
  TokenizerSpec spec;
  for (const auto& [piece, id] : ids) spec.vocabulary.Add(piece, id);
  const auto add_special = [&](const std::string& name, bool lstrip = false) -> std::optional<int32_t> {
    const auto found = ids.find(name);
    if (found == ids.end()) return std::nullopt;
    spec.added_tokens.push_back({.content = name, .id = found->second, .lstrip = lstrip, .special = true});
    return found->second;
  };
  const auto name_of = [](const std::optional<std::string>& given, std::string_view usual) {
    return given.value_or(std::string(usual));
  };
  const std::string unk = name_of(config.unk, "[UNK]"), cls_name = name_of(config.cls, form.cls),
                    sep_name = name_of(config.sep, form.sep);
  const std::optional<int32_t> unknown = add_special(unk), cls = add_special(cls_name), sep = add_special(sep_name);
  if (!unknown || !cls || !sep) {
    return Fail(ErrorCode::kDataLoss, Concat({"has no line with the piece ",
                                              !unknown ? unk
                                              : !cls   ? cls_name
                                                       : sep_name,
                                              ", expected the word pieces of a model of BERT's kind"}));
  }
  add_special(name_of(config.pad, form.pad));
  add_special(name_of(config.mask, form.mask), form.mask_takes_space);
  AddBertSteps({.lowercase = config.do_lower_case.value_or(true),
                .handle_chinese_chars = config.tokenize_chinese_chars.value_or(true),
                .strip_accents = config.strip_accents},
               unk, spec);
  SetClassified(*cls, *sep, form.frame, spec);
  ApplyTokenizerConfig(config, spec);
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_ENCODERS_VOCAB_TXT_H_
