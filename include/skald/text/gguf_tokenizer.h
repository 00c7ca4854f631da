// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer and the chat template that a GGUF file holds in its metadata, so that texts have the ids that they have
// with the original. Names and defaults are those of llama.cpp (https://github.com/ggml-org/llama.cpp, llama-vocab.cpp
// and convert_hf_to_gguf.py). Pure; safe for concurrent calls.

#ifndef SKALD_TEXT_GGUF_TOKENIZER_H_
#define SKALD_TEXT_GGUF_TOKENIZER_H_

#include <string>
#include <string_view>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/text/chat_template.h"
#include "skald/text/tokenizer.h"
#include "skald/text/tokenizers/gguf/gguf_byte_pairs.h"
#include "skald/text/tokenizers/gguf/gguf_pieces.h"
#include "skald/text/tokenizers/gguf/gguf_sentencepiece.h"
#include "skald/text/tokenizers/tokenizer_spec.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {
namespace internal {

// Calls read(reader) if the metadata describe a tokenizer of this kind.
template <class Read>
auto ReadGgufTokenizer(const GgufMetadata& metadata, std::string_view kind, const char* expected, Read read)
    -> decltype(read(std::declval<const GgufTokenizerReader&>())) {
  return NoThrow("the metadata", [&]() -> decltype(read(std::declval<const GgufTokenizerReader&>())) {
    const GgufTokenizerReader reader(metadata);
    const std::string found = reader.fields().String("model");
    if (reader.ok() && found != kind) reader.fields().Unsupported("model", found, expected);
    if (!reader.ok()) return reader.failure();
    return read(reader);
  });
}

}  // namespace internal

// Returns the SentencePiece model, as the content of its file, that values of names like "tokenizer.ggml.tokens" in
// `metadata` describe. Errors: kNotFound where there is none; kUnsupported for one of another kind; kDataLoss for
// values that cannot be right.
inline Result<std::string> SentencePieceFromGguf(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(
      metadata, "llama", R"("llama", with scores, and "gpt2", with merges; run the model on token ids instead)",
      internal::ScoredPiecesFromGguf);
}

// Returns what the byte-level tokenizer that they describe does, step by step. Errors: the same, and kUnsupported for a
// pre-tokenizer of an unknown name.
inline Result<TokenizerSpec> TokenizerSpecFromGguf(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(metadata, "gpt2", R"("gpt2", the kind with merges)", internal::BytePairsFromGguf);
}

// Returns the tokenizer that `metadata` describe, of either kind. Errors: those of the two functions above, and those
// of Tokenizer where the pieces make none.
inline Result<Tokenizer> TokenizerFromGguf(const GgufMetadata& metadata) {
  return NoThrow("the tokenizer in the metadata", [&]() -> Result<Tokenizer> {
    const auto kind = metadata.values.find(std::string(internal::kGgufTokenizer) + "model");
    const bool is_byte_level = kind != metadata.values.end() && *kind == "gpt2";
    Result<TokenizerSpec> spec;
    Result<std::string> model;
    if (is_byte_level) {
      spec = TokenizerSpecFromGguf(metadata);
    } else {
      model = SentencePieceFromGguf(metadata);
    }
    if (!spec || !model) return Failure((spec ? model.error() : spec.error()));
    Result<Tokenizer> tokenizer = is_byte_level ? Tokenizer::From(*std::move(spec)) : Tokenizer::Parse(*model);
    if (!tokenizer) return Annotate("the tokenizer in the metadata", tokenizer);
    return tokenizer;
  });
}

// Returns the chat template's program in the Jinja language from `metadata`, which must outlive it; empty if there is
// none.
inline std::string_view JinjaFromGguf(const GgufMetadata& metadata) {
  const auto jinja = metadata.values.find("tokenizer.chat_template");
  if (jinja == metadata.values.end() || !jinja->is_string()) return {};
  return jinja->get_ref<const std::string&>();
}

// Returns the chat template that `metadata` tell of, or kNone.
inline ChatTemplate ChatTemplateFromGguf(const GgufMetadata& metadata) {
  return ChatTemplateFromJinja(JinjaFromGguf(metadata));
}

}  // namespace skald

#endif  // SKALD_TEXT_GGUF_TOKENIZER_H_
