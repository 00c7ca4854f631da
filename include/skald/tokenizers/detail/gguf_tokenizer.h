// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/gguf_tokenizer.h.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_TOKENIZER_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_TOKENIZER_H_

#include "skald/tokenizers/gguf_tokenizer.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/json/detail/json_fields.h"
#include "skald/base/no_throw.h"
#include "skald/tokenizers/detail/gguf/gguf_byte_pairs.h"
#include "skald/tokenizers/detail/gguf/gguf_encoders.h"
#include "skald/tokenizers/detail/gguf/gguf_gemma4.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/gguf/gguf_plamo2.h"
#include "skald/tokenizers/detail/gguf/gguf_rwkv.h"
#include "skald/tokenizers/detail/gguf/gguf_sentencepiece.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_engine.h"
#include "skald/tokenizers/tokenizer.h"

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
      reader.fields().Unsupported(
          "model", kind,
          R"("llama", "t5" and "plamo2", the kinds with scores, "gpt2" and "gemma4", with merges, "bert" and "rwkv")");
    }
    if (!reader.ok()) return reader.failure();
    return read(reader, kind);
  });
}

inline Result<Tokenizer> MakeScoredTokenizer(const GgufTokenizerReader& reader) {
  const bool adds_eos = reader.fields().Flag("add_eos_token", false);
  SKALD_ASSIGN(const auto model, ScoredPiecesFromGguf(reader));
  const auto engine = SentencePieceEngine::Parse(model, {.eos = adds_eos});
  if (!engine) return Annotate("the tokenizer in the metadata", engine);
  return Tokenizer::From(*engine);
}

// Of the kinds that are a pipeline of steps.
inline Result<TokenizerSpec> StepsFromGguf(const GgufTokenizerReader& reader, std::string_view kind) {
  if (kind == "rwkv") return RwkvFromGguf(reader);
  if (kind == "bert") return BertFromGguf(reader);
  if (kind == "plamo2") return Plamo2FromGguf(reader);
  if (kind == "t5") return LikelyPiecesFromGguf(reader);
  return kind == "gemma4" ? Gemma4FromGguf(reader) : BytePairsFromGguf(reader);
}

inline Result<Tokenizer> MakePipelineTokenizer(const GgufTokenizerReader& reader, std::string_view kind) {
  SKALD_ASSIGN(auto spec, StepsFromGguf(reader, kind));
  Result<Tokenizer> tokenizer = Tokenizer::From(std::move(spec));
  if (!tokenizer) return Annotate("the tokenizer in the metadata", tokenizer);
  return tokenizer;
}

}  // namespace internal

SKALD_INLINE Result<Tokenizer> Tokenizer::Load(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(metadata, {"llama", "gpt2", "gemma4", "rwkv", "bert", "t5", "plamo2"},
                                     [](const internal::GgufTokenizerReader& reader, const std::string& kind) {
                                       return kind == "llama" ? internal::MakeScoredTokenizer(reader)
                                                              : internal::MakePipelineTokenizer(reader, kind);
                                     });
}

SKALD_INLINE Result<TokenizerSpec> TokenizerSpecFromGguf(const GgufMetadata& metadata) {
  return internal::ReadGgufTokenizer(metadata, {"gpt2", "gemma4", "rwkv", "bert", "t5", "plamo2"},
                                     [](const internal::GgufTokenizerReader& reader, const std::string& kind) {
                                       return internal::StepsFromGguf(reader, kind);
                                     });
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_TOKENIZER_H_
