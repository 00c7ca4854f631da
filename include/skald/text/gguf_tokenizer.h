// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer that a GGUF file holds in its metadata, for files of models with a SentencePiece tokenizer of merges
// (Llama 2, Mistral, TinyLlama, Gemma): rebuilt into a SentencePiece model, so that texts have the ids that they have
// with the original. Names and defaults are those of llama.cpp (https://github.com/ggml-org/llama.cpp, llama-vocab.cpp
// and convert_hf_to_gguf.py). Pure; safe for concurrent calls.

#ifndef SKALD_TEXT_GGUF_TOKENIZER_H_
#define SKALD_TEXT_GGUF_TOKENIZER_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/json_fields.h"
#include "skald/base/result.h"
#include "skald/text/chat_template.h"
#include "skald/text/sentencepiece_writer.h"
#include "skald/text/tokenizer.h"

namespace skald {
namespace internal {

// Returns an array of `count` values that `is_right` accepts, or null and an error.
template <class Predicate>
const nlohmann::json* GgufArray(const JsonFields& fields, const char* name, size_t count, const char* expected,
                                Predicate is_right) {
  const nlohmann::json* array = fields.Find(name);
  if (array == nullptr) {
    fields.Missing(name);
    return nullptr;
  }
  bool right = array->is_array() && array->size() == count;
  for (size_t i = 0; right && i < count; ++i) right = is_right((*array)[i]);
  if (right) return array;
  fields.WrongValue(name, *array, "an array of " + std::to_string(count) + " " + expected);
  return nullptr;
}

// Converters write spaces in user-defined pieces as they are; SentencePiece never does.
inline std::string WithSpaceSymbols(const std::string& text) {
  std::string replaced;
  for (const char c : text) {
    if (c == ' ') {
      replaced += kSpaceSymbol;
    } else {
      replaced += c;
    }
  }
  return replaced;
}

inline void ReadGgufPieces(const JsonFields& fields, NewSentencePieceModel& model) {
  constexpr const char *kTokens = "tokens", *kScores = "scores", *kTypes = "token_type";
  const nlohmann::json* listed = fields.Find(kTokens);
  const size_t count = listed != nullptr && listed->is_array() ? listed->size() : 0;
  const auto is_string = [](const nlohmann::json& value) { return value.is_string(); };
  const auto is_number = [](const nlohmann::json& value) { return value.is_number(); };
  const auto is_type = [](const nlohmann::json& value) {
    return value.is_number_integer() && value >= static_cast<int>(PieceType::kNormal) &&
           value <= static_cast<int>(PieceType::kByte);
  };
  const nlohmann::json* tokens = GgufArray(fields, kTokens, count, "strings", is_string);
  const nlohmann::json* scores = GgufArray(fields, kScores, count, "numbers, one for each token", is_number);
  const nlohmann::json* types = GgufArray(fields, kTypes, count, "numbers from 1 to 6, one for each token", is_type);
  if (tokens == nullptr || scores == nullptr || types == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    const auto& text = (*tokens)[i].get_ref<const std::string&>();
    const auto type = static_cast<PieceType>((*types)[i].get<int>());
    const bool spaced = type == PieceType::kUserDefined;
    model.pieces.push_back({spaced ? WithSpaceSymbols(text) : text, (*scores)[i].get<float>(), type});
  }
}

inline std::optional<size_t> GgufTokenId(const JsonFields& fields, const char* name, size_t count) {
  if (fields.Find(name) == nullptr || count == 0) return std::nullopt;
  return static_cast<size_t>(fields.Integer(name, 0, static_cast<int>(count) - 1));
}

}  // namespace internal

// Returns the SentencePiece model, as the content of its file, that `metadata`, an object of names like
// "tokenizer.ggml.tokens", describe. Errors: kNotFound where there is none; kUnsupported for one of another kind, above
// all the byte-level "gpt2" of Llama 3 and Qwen; kDataLoss for values that cannot be right.
inline Result<std::string> SentencePieceFromGguf(const nlohmann::json& metadata) {
  nlohmann::json values = nlohmann::json::object();
  const std::string prefix = "tokenizer.ggml.";
  for (const auto& [name, value] : metadata.items()) {
    if (name.starts_with(prefix)) values[name.substr(prefix.size())] = value;
  }
  std::optional<Error> error;
  const internal::JsonFields fields(&values, nullptr, prefix, &error);
  const std::string kind = fields.String("model");
  if (!error && kind != "llama") {
    fields.Unsupported("model", kind, R"("llama", the kind with scores; run the model on token ids instead)");
  }
  internal::NewSentencePieceModel model;
  if (!error) internal::ReadGgufPieces(fields, model);
  const size_t count = model.pieces.size();
  if (fields.Flag("add_bos_token", true)) model.bos = internal::GgufTokenId(fields, "bos_token_id", count);
  model.eos = internal::GgufTokenId(fields, "eos_token_id", count);
  model.unk = internal::GgufTokenId(fields, "unknown_token_id", count);
  model.pad = internal::GgufTokenId(fields, "padding_token_id", count);
  model.add_dummy_prefix = fields.Flag("add_space_prefix", true);
  model.remove_extra_whitespaces = fields.Flag("remove_extra_whitespaces", false);
  if (error) return Fail(error->code, "metadata: " + error->message);
  return internal::WriteSentencePieceModel(model);
}

// Returns the tokenizer that `metadata` describe. Errors: those of SentencePieceFromGguf, and of Tokenizer::Parse where
// the pieces make none.
inline Result<Tokenizer> TokenizerFromGguf(const nlohmann::json& metadata) {
  const Result<std::string> model = SentencePieceFromGguf(metadata);
  if (!model) return Failure(model.error());
  Result<Tokenizer> tokenizer = Tokenizer::Parse(*model);
  if (!tokenizer) return Annotate("the tokenizer in the metadata", tokenizer);
  return tokenizer;
}

// Returns the chat template's program in the Jinja language from `metadata`, which must outlive it; empty if there is
// none.
inline std::string_view JinjaFromGguf(const nlohmann::json& metadata) {
  const auto jinja = metadata.find("tokenizer.chat_template");
  if (jinja == metadata.end() || !jinja->is_string()) return {};
  return jinja->get_ref<const std::string&>();
}

// Returns the chat template that `metadata` tell of, or kNone.
inline ChatTemplate ChatTemplateFromGguf(const nlohmann::json& metadata) {
  return ChatTemplateFromJinja(JinjaFromGguf(metadata));
}

}  // namespace skald

#endif  // SKALD_TEXT_GGUF_TOKENIZER_H_
