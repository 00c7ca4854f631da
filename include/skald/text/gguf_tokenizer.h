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
#include <variant>
#include <vector>

#include "skald/base/json/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/text/sentencepiece_writer.h"
#include "skald/text/tokenizer.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {
namespace internal {

// How the names of all that tells of the tokenizer begin.
inline constexpr std::string_view kGgufTokenizer = "tokenizer.ggml.";

// The arrays that tell of the pieces, one element for each.
class GgufPieceArrays {
 public:
  GgufPieceArrays(const GgufMetadata& metadata, const JsonFields& fields) : metadata_(metadata), fields_(fields) {}

  // The number of elements of an array; 0 for none.
  size_t SizeOf(const char* name) const {
    const GgufArray* const array = Find(name);
    return array == nullptr ? 0 : static_cast<size_t>(array->size());
  }

  // Calls take(i, value) with each of `count` elements, as JSON. Notes an error for any other number of them, and where
  // `take` returns false.
  template <class Take>
  void Read(const char* name, size_t count, const char* expected, Take take) const {
    const std::string all = "an array of " + std::to_string(count) + " " + expected;
    const GgufArray* const array = Find(name);
    if (array == nullptr) {
      const nlohmann::json* const value = fields_.Find(name);
      return value == nullptr ? fields_.Missing(name) : fields_.WrongValue(name, *value, all);
    }
    size_t taken = 0;
    if (array->size() == count) {
      array->ForEach([&](const GgufValue& element) {
        const auto* const value = std::get_if<nlohmann::json>(&element);
        const bool is_right = value != nullptr && take(taken, *value);
        taken += is_right;
        return is_right;
      });
    }
    if (taken != count || array->size() != count) {
      fields_.WrongValue(name, "an array of " + std::to_string(array->size()), all);
    }
  }

 private:
  const GgufArray* Find(const char* name) const { return metadata_.Array(std::string(kGgufTokenizer) + name); }

  const GgufMetadata& metadata_;
  const JsonFields& fields_;
};

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

inline void ReadGgufPieces(const GgufPieceArrays& arrays, NewSentencePieceModel& model) {
  constexpr const char *kTokens = "tokens", *kScores = "scores", *kTypes = "token_type";
  std::vector<NewPiece> pieces(arrays.SizeOf(kTokens));
  arrays.Read(kTokens, pieces.size(), "strings", [&](size_t i, const nlohmann::json& text) {
    if (text.is_string()) pieces[i].text = text.get_ref<const std::string&>();
    return text.is_string();
  });
  arrays.Read(kScores, pieces.size(), "numbers, one for each token", [&](size_t i, const nlohmann::json& score) {
    if (score.is_number()) pieces[i].score = score.get<float>();
    return score.is_number();
  });
  arrays.Read(kTypes, pieces.size(), "numbers from 1 to 6, one for each token",
              [&](size_t i, const nlohmann::json& type) {
                const bool is_type = type.is_number_integer() && type >= static_cast<int>(PieceType::kNormal) &&
                                     type <= static_cast<int>(PieceType::kByte);
                if (is_type) pieces[i].type = static_cast<PieceType>(type.get<int>());
                return is_type;
              });
  for (NewPiece& piece : pieces) {
    if (piece.type == PieceType::kUserDefined) piece.text = WithSpaceSymbols(piece.text);
  }
  model.pieces = std::move(pieces);
}

inline std::optional<size_t> GgufTokenId(const JsonFields& fields, const char* name, size_t count) {
  if (fields.Find(name) == nullptr || count == 0) return std::nullopt;
  return static_cast<size_t>(fields.Integer(name, 0, static_cast<int>(count) - 1));
}

}  // namespace internal

// Returns the SentencePiece model, as the content of its file, that values of names like "tokenizer.ggml.tokens" in
// `metadata` describe. Errors: kNotFound where there is none; kUnsupported for one of another kind, above
// all the byte-level "gpt2" of Llama 3 and Qwen; kDataLoss for values that cannot be right.
inline Result<std::string> SentencePieceFromGguf(const GgufMetadata& metadata) {
  return NoThrow("the metadata", [&]() -> Result<std::string> {
    const std::string prefix(internal::kGgufTokenizer);
    nlohmann::json values = nlohmann::json::object();
    const internal::JsonGuard guard(values);
    for (const auto& [name, value] : metadata.values.items()) {
      if (name.starts_with(prefix)) values[name.substr(prefix.size())] = value;
    }
    std::optional<Error> error;
    const internal::JsonFields fields(&values, nullptr, prefix, &error);
    const std::string kind = fields.String("model");
    if (!error && kind != "llama") {
      fields.Unsupported("model", kind, R"("llama", the kind with scores; run the model on token ids instead)");
    }
    internal::NewSentencePieceModel model;
    if (!error) internal::ReadGgufPieces({metadata, fields}, model);
    const size_t count = model.pieces.size();
    if (fields.Flag("add_bos_token", true)) model.bos = internal::GgufTokenId(fields, "bos_token_id", count);
    model.eos = internal::GgufTokenId(fields, "eos_token_id", count);
    model.unk = internal::GgufTokenId(fields, "unknown_token_id", count);
    model.pad = internal::GgufTokenId(fields, "padding_token_id", count);
    model.add_dummy_prefix = fields.Flag("add_space_prefix", true);
    model.remove_extra_whitespaces = fields.Flag("remove_extra_whitespaces", false);
    if (error) return Fail(error->code, "metadata: " + error->message);
    return internal::WriteSentencePieceModel(model);
  });
}

// Returns the tokenizer that `metadata` describe. Errors: those of SentencePieceFromGguf, and of Tokenizer::Parse where
// the pieces make none.
inline Result<Tokenizer> TokenizerFromGguf(const GgufMetadata& metadata) {
  return NoThrow("the tokenizer in the metadata", [&]() -> Result<Tokenizer> {
    const Result<std::string> model = SentencePieceFromGguf(metadata);
    if (!model) return Failure(model.error());
    Result<Tokenizer> tokenizer = Tokenizer::Parse(*model);
    if (!tokenizer) return Annotate("the tokenizer in the metadata", tokenizer);
    return tokenizer;
  });
}

}  // namespace skald

#endif  // SKALD_TEXT_GGUF_TOKENIZER_H_
