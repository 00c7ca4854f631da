// SPDX-License-Identifier: Apache-2.0
//
// What a model's files say of text: its tokenizer.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_TEXT_H_
#define SKALD_EXAMPLES_SKALD_MODEL_TEXT_H_

#include "identify_model.h"
#include "options.h"
#include "skald/base/result.h"
#include "skald/text/tokenizer.h"

namespace skald::program {

// Loads the tokenizer that the user names, or that of the model, and checks that it fits the model.
Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info);

// The same where a tokenizer is all that is wanted: of a file named by the user there need be no model.
Result<Tokenizer> LoadTokenizerAlone(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_TEXT_H_
