// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/tokenizer_engine.h.

#ifndef SKALD_TOKENIZERS_DETAIL_TOKENIZER_ENGINE_H_
#define SKALD_TOKENIZERS_DETAIL_TOKENIZER_ENGINE_H_

#include "skald/tokenizers/tokenizer_engine.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Result<std::vector<int32_t>> TokenizerEngine::Encode(std::string_view text, Author author) const {
  return Encode(MarkedText(text, author));
}

SKALD_INLINE Result<std::string> TokenizerEngine::ToBytes() const {
  return Fail(ErrorCode::kUnsupported, "this tokenizer has no form as a file");
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_TOKENIZER_ENGINE_H_
