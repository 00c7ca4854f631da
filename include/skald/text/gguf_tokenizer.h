// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer and the chat template that a GGUF file holds in its metadata, so that texts have the ids that they have
// with the original. Names and defaults are those of llama.cpp (https://github.com/ggml-org/llama.cpp, llama-vocab.cpp
// and convert_hf_to_gguf.py). Pure; safe for concurrent calls.

#ifndef SKALD_TEXT_GGUF_TOKENIZER_H_
#define SKALD_TEXT_GGUF_TOKENIZER_H_

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/text/tokenizer.h"
#include "skald/text/tokenizers/gguf/gguf_byte_pairs.h"
#include "skald/text/tokenizers/gguf/gguf_pieces.h"
#include "skald/text/tokenizers/gguf/gguf_rwkv.h"
#include "skald/text/tokenizers/gguf/gguf_sentencepiece.h"
#include "skald/text/tokenizers/sentencepiece/sentencepiece_engine.h"
#include "skald/text/tokenizers/tokenizer_spec.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {
namespace internal {

// Calls read(reader) if the metadata describe a tokenizer of one of these kinds.
template <class Read>
auto ReadGgufTokenizer(const GgufMetadata& metadata, std::initializer_list<std::string_view> kinds, Read read)
    -> decltype(read(std::declval<const GgufTokenizerReader&>(), std::string())) {
  return NoThrow("the metadata", [&]() -> decltype(read(std::declval<const GgufTokenizerReader&>(), std::string())) {
    const GgufTokenizerReader reader(metadata);
    const std::string kind = reader.fields().String("model");
    if (reader.ok() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      reader.fields().Unsupported("model", kind,
                                  R"("llama", the kind with scores, "gpt2", the kind with merges, and "rwkv")");
    }
    if (!reader.ok()) return reader.failure();
    return read(reader, kind);
  });
}

inline Result<Tokenizer> MakeScoredTokenizer(const GgufTokenizerReader& reader) {
  const bool adds_eos = reader.fields().Flag("add_eos_token", false);
  const Result<std::string> model = ScoredPiecesFromGguf(reader);
  if (!model) return Failure(model.error());
  const auto engine = SentencePieceEngine::Parse(*model, {.eos = adds_eos});
  if (!engine) return Annotate("the tokenizer in the metadata", engine);
  return Tokenizer::From(*engine);
}

// Of the kinds that are a pipeline of steps.
inline Result<TokenizerSpec> StepsFromGguf(const GgufTokenizerReader& reader, std::string_view kind) {
  return kind == "rwkv" ? RwkvFromGguf(reader) : BytePairsFromGguf(reader);
}

inline Result<Tokenizer> MakePipelineTokenizer(const GgufTokenizerReader& reader, std::string_view kind) {
  Result<TokenizerSpec> spec = StepsFromGguf(reader, kind);
  if (!spec) return Failure(spec.error());
  Result<Tokenizer> tokenizer = Tokenizer::From(*std::move(spec));
  if (!tokenizer) return Annotate("the tokenizer in the metadata", tokenizer);
  return tokenizer;
}

}  // namespace internal

// Returns the tokenizer that values of names like "tokenizer.ggml.tokens" in `metadata` describe. Errors: kNotFound
// where there is none; kUnsupported for one of another kind than "llama", "gpt2" and "rwkv", or with a pre-tokenizer of
// an unknown name; kDataLoss and those of Tokenizer::Parse for values that cannot be right.
inline Result<Tokenizer> TokenizerFromGguf(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(
      metadata, {"llama", "gpt2", "rwkv"}, [](const internal::GgufTokenizerReader& reader, const std::string& kind) {
        return kind == "llama" ? internal::MakeScoredTokenizer(reader) : internal::MakePipelineTokenizer(reader, kind);
      });
}

// Returns the SentencePiece model, as the content of its file, that `metadata` describe. Errors: the same, and
// kUnsupported for a byte-level tokenizer.
inline Result<std::string> SentencePieceFromGguf(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(metadata, {"llama"},
                                     [](const internal::GgufTokenizerReader& reader, const std::string&) {
                                       return internal::ScoredPiecesFromGguf(reader);
                                     });
}

// Returns what the byte-level tokenizer, or RWKV's, that `metadata` describe does, step by step. Errors: the same, and
// kUnsupported for a SentencePiece tokenizer.
inline Result<TokenizerSpec> TokenizerSpecFromGguf(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(metadata, {"gpt2", "rwkv"},
                                     [](const internal::GgufTokenizerReader& reader, const std::string& kind) {
                                       return internal::StepsFromGguf(reader, kind);
                                     });
}

}  // namespace skald

#endif  // SKALD_TEXT_GGUF_TOKENIZER_H_
