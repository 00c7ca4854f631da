// SPDX-License-Identifier: Apache-2.0
//
// Text of a growing sequence of token ids, piece by piece, as a user watches it appear. The results of all calls,
// joined, are Tokenizer::Decode of all ids; each part holds whole UTF-8 characters only. A token costs the same however
// long the text is. A StreamDecoder is plain state of one conversation: copy it to fork.
//
// One exception: where bytes that form no valid text come one by one ("byte fallback" in tokenizer.json), Decode looks
// at the whole run of them, and gives U+FFFD for each if any is wrong. A stream cannot wait for the end of the run; it
// lets out each character as soon as it is whole.

#ifndef SKALD_TOKENIZERS_STREAM_DECODER_H_
#define SKALD_TOKENIZERS_STREAM_DECODER_H_

#include <cstdint>
#include <string>

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

/// One thread at a time. To continue a text, so that the first new word keeps its space, push the
/// ids of the text first and ignore what comes back.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Returns the text that `id` completes. It is empty while a character made of bytes is incomplete, and for control
  /// pieces. An id beyond the vocabulary is an error, and changes nothing.
  Result<std::string> Push(int32_t id);

  /// Returns what is left at the end of the text: above all U+FFFD for a character of which bytes are missing. So short
  /// a text needs no memory; where a longer one finds none, it is lost.
  std::string Flush() noexcept;

 private:
  const Tokenizer* tokenizer_;
  DecodingState state_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/stream_decoder.h"
#endif

#endif  // SKALD_TOKENIZERS_STREAM_DECODER_H_
