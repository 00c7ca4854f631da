// SPDX-License-Identifier: Apache-2.0
//
// The input of an encoder for a text, or for two (a query and a document): ids with the special tokens of the model's
// publisher around and between them, and type ids that tell the two texts apart. Too long an input is an error, or is
// made shorter as the caller chooses, as Hugging Face's tokenizers do it; never in silence. Pure; safe for concurrent
// calls. Source: tokenizers/src/utils/truncation.rs of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_ENCODER_INPUT_H_
#define SKALD_TOKENIZERS_ENCODER_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

/// The treatment of an input with too many ids.
enum class Truncation {
  kRefuse,        ///< it is an error
  kLongestFirst,  ///< of two texts the longer one is cut to the length of the other, then both are
  kOnlyFirst,     ///< the first text is cut
  kOnlySecond,    ///< the second text is cut
};

/// Which end of a text is cut off.
enum class TruncatedEnd { kRight, kLeft };

/// The most ids of an input, special tokens included.
struct InputLimit {
  size_t most_ids = ~size_t{0};                       ///< no limit if left alone
  Truncation truncation = Truncation::kRefuse;        ///< of longer ones
  TruncatedEnd truncated_end = TruncatedEnd::kRight;  ///< where truncation cuts
};

/// The input of an encoder for one text or two.
struct EncoderInput {
  std::vector<int32_t> ids;    ///< token ids, special tokens included
  std::vector<int32_t> types;  ///< one type id for each; what a model without types does not read
  size_t cut_first = 0;        ///< how many ids of the first text were cut off
  size_t cut_second = 0;       ///< how many ids of the second text were cut off
};

/// Returns the number of special tokens in the input of one text.
size_t TokensAroundText(const Tokenizer& tokenizer);

/// Returns the number of special tokens in the input of two texts. Error: kUnsupported where the tokenizer's file does
/// not say how two texts are joined.
Result<size_t> TokensAroundPair(const Tokenizer& tokenizer);

/// Returns the input of a text whose ids are `text`, of any length. Errors: kInvalidArgument for an id beyond the
/// vocabulary, for a limit below the special tokens, and for a truncation of a text that is not there;
/// kOutOfRange for too long an input under Truncation::kRefuse.
Result<EncoderInput> MakeEncoderInput(const Tokenizer& tokenizer, std::span<const int32_t> text,
                                      const InputLimit& limit = {});

/// Returns the input of two texts by their ids. Errors: the same, those of TokensAroundPair, and kOutOfRange where the
/// one text that may be cut is too short for it.
Result<EncoderInput> MakePairInput(const Tokenizer& tokenizer, std::span<const int32_t> first,
                                   std::span<const int32_t> second, const InputLimit& limit = {});

/// Returns the input of a text. Names of special tokens in it are parsed, as Hugging Face's tokenizers do, unless
/// `parse_special` says otherwise. Errors: those of encoding and of MakeEncoderInput.
Result<EncoderInput> EncodeInput(const Tokenizer& tokenizer, std::string_view text, const InputLimit& limit = {},
                                 ParseSpecial parse_special = ParseSpecial::kYes);

/// Returns the input of two texts, as EncodeInput does. Errors: those of encoding and of MakePairInput.
Result<EncoderInput> EncodePair(const Tokenizer& tokenizer, std::string_view first, std::string_view second,
                                const InputLimit& limit = {}, ParseSpecial parse_special = ParseSpecial::kYes);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/encoder_input.h"
#endif

#endif  // SKALD_TOKENIZERS_ENCODER_INPUT_H_
