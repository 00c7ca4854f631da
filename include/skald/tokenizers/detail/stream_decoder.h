// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/stream_decoder.h.

#ifndef SKALD_TOKENIZERS_DETAIL_STREAM_DECODER_H_
#define SKALD_TOKENIZERS_DETAIL_STREAM_DECODER_H_

#include "skald/tokenizers/stream_decoder.h"

#include <string_view>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::string> StreamDecoder::Push(int32_t id) {
  if (const Result<std::string_view> piece = tokenizer_->IdToPiece(id); !piece) return Failure(piece.error());
  return NoThrow("decoding an id", [&]() -> Result<std::string> {
    DecodingState next = state_;
    std::string text = tokenizer_->engine().DecodeNext(next, id);
    state_ = std::move(next);
    return text;
  });
}

SKALD_INLINE std::string StreamDecoder::Flush() noexcept {
  Result<std::string> text =
      NoThrow("the end of a text", [&]() -> Result<std::string> { return tokenizer_->engine().DecodeRest(state_); });
  return text ? *std::move(text) : std::string();
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_STREAM_DECODER_H_
