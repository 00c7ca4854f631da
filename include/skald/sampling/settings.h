// SPDX-License-Identifier: Apache-2.0
//
// How the next token is chosen: a plain struct that the caller fills in, copies and saves. The default samples from the
// model's own distribution, unchanged. sampler.h gives the order of the steps.

#ifndef SKALD_SAMPLING_SETTINGS_H_
#define SKALD_SAMPLING_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "skald/base/result.h"
#include "skald/sampling/random.h"

namespace skald {

/// Added to one token's logit; minus infinity bans the token. Biases of the same token add up.
struct LogitBias {
  int32_t token = 0;  ///< its id
  float bias = 0.0f;  ///< in units of logits
};

/// How tokens are drawn. The defaults draw from the plain distribution of the model.
struct SamplerSettings {
  /// Divides the logits: below 1 sharper, above 1 flatter. 0 is greedy: the highest logit, at ties
  /// the lowest id.
  float temperature = 1.0f;
  /// Keeps the top_k most likely tokens; 0 keeps all.
  size_t top_k = 0;
  /// Keeps the fewest most likely tokens whose probabilities sum to at least top_p; 1 keeps all.
  /// Holtzman et al., "The curious case of neural text degeneration", ICLR 2020.
  float top_p = 1.0f;
  /// Keeps tokens at least min_p times as likely as the most likely one; 0 keeps all.
  /// Nguyen et al., "Turning up the heat: min-p sampling", 2024.
  float min_p = 0.0f;

  /// How many of the latest observed tokens the three penalties look at; 0 is none.
  size_t penalty_window = 64;
  /// Divides the positive and multiplies the negative logits of tokens in the window; 1 does
  /// nothing. Keskar et al., "CTRL: a conditional transformer language model", 2019, section 4.1.
  float repetition_penalty = 1.0f;
  /// Subtracted from the logit of every token in the window, once.
  float presence_penalty = 0.0f;
  /// Subtracted from the logit of every token in the window, once for each occurrence.
  float frequency_penalty = 0.0f;

  /// Added before penalties; in any order.
  std::vector<LogitBias> logit_bias = {};

  /// The source of randomness; not used when greedy.
  RandomStream random = {};

  /// Which log-probabilities to report, which takes one exponential per logit. Unset: none. Set:
  /// that of the chosen token, and those of this many most likely tokens.
  std::optional<size_t> num_logprobs = std::nullopt;
};

/// Checks every setting, for a model with `vocab_size` tokens. The error names the setting and what
/// it may be.
Result<void> ValidateSettings(const SamplerSettings& settings, size_t vocab_size);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/sampling/detail/settings.h"
#endif

#endif  // SKALD_SAMPLING_SETTINGS_H_
