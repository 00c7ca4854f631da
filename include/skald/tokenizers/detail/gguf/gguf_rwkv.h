// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of RWKV's World models that GGUF files call "rwkv", as a TokenizerSpec: pieces are bytes as Python
// writes them, without quotes. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_RWKV_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_RWKV_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/rwkv_vocabulary.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Returns the tokenizer step by step. Id 0 ends texts whatever the file calls it; what the file says ends turns counts
// as well. Errors: kNotFound and kDataLoss for values that are missing or cannot be right.
inline Result<TokenizerSpec> RwkvFromGguf(const GgufTokenizerReader& reader) {
  const size_t count = reader.SizeOf("tokens");
  const std::vector<GgufTokenType> types = reader.ReadTypes(count);
  RwkvVocabulary vocabulary;
  std::optional<Failure> wrong;
  reader.ReadStrings("tokens", count, [&](size_t i, const std::string& text) {
    if (i == 0 || types[i] == GgufTokenType::kUnused || wrong) return;
    const std::optional<std::string> bytes = UnescapePython(text, PythonEscapes::kBytes);
    if (bytes && !bytes->empty()) return vocabulary.Add(*bytes, static_cast<int32_t>(i));
    wrong = Fail(ErrorCode::kDataLoss, Concat({"metadata: piece ", std::to_string(i), " of tokenizer.ggml.tokens is ",
                                               QuotedName(text), ", expected bytes as Python writes them"}));
  });
  const std::optional<int32_t> bos = reader.TokenId("bos_token_id", count), eos = reader.TokenId("eos_token_id", count),
                               end_of_turn = reader.TokenId("eot_token_id", count);
  const bool adds_bos = reader.fields().Flag("add_bos_token", false);
  if (!reader.ok()) return reader.failure();
  if (wrong) return *wrong;
  SKALD_ASSIGN(auto spec, std::move(vocabulary).Finish());
  spec.bos_id = bos ? bos : spec.bos_id;
  spec.eos_id = eos ? eos : end_of_turn ? end_of_turn : spec.eos_id;
  if (adds_bos) spec.prefix.push_back(*spec.bos_id);
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_RWKV_H_
