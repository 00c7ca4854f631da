// SPDX-License-Identifier: Apache-2.0
//
// How well a model foretells a text: exp of the mean negative log-probability of its tokens.

#ifndef SKALD_EXAMPLES_SKALD_TEXTS_PERPLEXITY_H_
#define SKALD_EXAMPLES_SKALD_TEXTS_PERPLEXITY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "texts/text_engine.h"

namespace skald::program {

struct Perplexity {
  double value, error;  // the perplexity, and its standard error
  size_t tokens;        // whose log-probabilities count
};

// Divides `tokens` into windows of `window` tokens, each computed by itself, and counts the tokens of the second half
// of each: those have at least half a window before them, and llama.cpp's figures are made so. The rest at the end
// is not counted, and a text of less than a window is one window of which all tokens but the first count. `bos`, if not
// null, replaces the first token of each window. Nothing after an interrupt. Errors: a text of less than two tokens;
// those of the engine.
Result<std::optional<Perplexity>> MeasurePerplexity(TextEngine& engine, std::span<const int32_t> tokens,
                                                    uint32_t window, const int32_t* bos);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TEXTS_PERPLEXITY_H_
