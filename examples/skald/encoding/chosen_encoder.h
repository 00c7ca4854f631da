// SPDX-License-Identifier: Apache-2.0
//
// The encoder that the options choose, and the texts that it reads.

#ifndef SKALD_EXAMPLES_SKALD_ENCODING_CHOSEN_ENCODER_H_
#define SKALD_EXAMPLES_SKALD_ENCODING_CHOSEN_ENCODER_H_

#include <string>
#include <vector>

#include "command_line/options.h"
#include "skald/base/result.h"
#include "skald/open/open_encoder.h"

namespace skald::program {

// Opens the model, showing progress. Errors: those of OpenEncoder and PoolingNamed.
Result<Encoder> OpenChosenEncoder(const Options& options);

// Reads all texts: the lines of the files or of standard input, without empty ones, or whole files. Errors: those of
// reading; more than kMaxPromptBytes in one file; no text at all.
Result<std::vector<std::string>> ReadTexts(const EncodingOptions& encoding);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_ENCODING_CHOSEN_ENCODER_H_
