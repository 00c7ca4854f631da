// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of listed merges that GGUF files of Gemma 4 call "gemma4", as a TokenizerSpec. As in its tokenizer.json
// a text is not split before merging, spaces are a symbol, letters stay letters, and those without a piece become byte
// pieces. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_GEMMA4_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_GEMMA4_H_

#include <string>
#include <utility>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/gguf/gguf_byte_pairs.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Texts begin with the BOS piece whatever the file says: early converters wrote that they do not. Errors: kNotFound and
// kDataLoss for values that are missing or cannot be right.
inline Result<TokenizerSpec> Gemma4FromGguf(const GgufTokenizerReader& reader) {
  TokenizerSpec spec;
  const std::string space(kSpaceSymbol);
  spec.normalizers.emplace_back(normalizer::Replace{.pattern = {" "}, .content = space});
  spec.decoders.emplace_back(token_decoder::Replace{.pattern = {space}, .content = " "});
  spec.decoders.emplace_back(token_decoder::ByteFallback{});
  spec.decoders.emplace_back(token_decoder::Fuse{});
  ReadGgufPieces(reader, spec);
  (void)reader.fields().Flag("add_bos_token", true);
  ReadGgufMarkers(reader, /*adds_bos=*/true, spec);
  token_model::Bpe model;
  model.merges = ReadGgufMerges(reader);
  model.fuse_unk = model.byte_fallback = true;
  if (!reader.ok()) return reader.failure();
  if (spec.unk_id) model.unk_token = std::string(spec.vocabulary.texts[static_cast<size_t>(*spec.unk_id)]);
  spec.model = std::move(model);
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_GEMMA4_H_
