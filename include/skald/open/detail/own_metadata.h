// SPDX-License-Identifier: Apache-2.0
//
// Metadata of GGUF files that Skald writes, where llama.cpp has no names: small files of the folder as they are, facts
// of encoders, and heads for tokens. Their names begin with "skald."; other programs pass them over.

#ifndef SKALD_OPEN_DETAIL_OWN_METADATA_H_
#define SKALD_OPEN_DETAIL_OWN_METADATA_H_

#include <string_view>

#include "skald/open/encoders/encoder_facts.h"

namespace skald::internal {

/// Before the name of a file whose content it is.
inline constexpr std::string_view kFileEntry = "skald.file.";

/// Those of a folder that are kept so.
inline constexpr std::string_view kAdviceFile = "generation_config.json",
                                  kPromptsFile = "config_sentence_transformers.json",
                                  kLongestTextFile = "sentence_bert_config.json";

/// Facts of encoders; where a file lacks them, they are as llama.cpp has it.
struct OwnFlag {
  std::string_view name;
  bool EncoderFacts::*fact;
};
inline constexpr OwnFlag kOwnFlags[] = {{"skald.encoder.normalises", &EncoderFacts::normalises},
                                        {"skald.encoder.leaves_out_prompt", &EncoderFacts::leaves_out_prompt},
                                        {"skald.encoder.bounded_scores", &EncoderFacts::bounded_scores}};

/// The name of a pooling that llama.cpp has no number for.
inline constexpr std::string_view kPoolingEntry = "skald.encoder.pooling";

/// Before the name of a head for tokens; ".weight" or ".bias" follows.
inline constexpr std::string_view kHeadEntry = "skald.head.";

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_OWN_METADATA_H_
