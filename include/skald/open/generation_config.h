// SPDX-License-Identifier: Apache-2.0
//
// The publisher's advice for generating with a model: generation_config.json, in the terms of Hugging Face's
// transformers. Pure; safe for concurrent calls.

#ifndef SKALD_OPEN_GENERATION_CONFIG_H_
#define SKALD_OPEN_GENERATION_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald {

/// Fields that are missing in the file are unset.
struct GenerationConfig {
  std::vector<int32_t> eos_ids = {};             ///< each ends a text
  std::optional<bool> do_sample = {};            ///< whether to draw tokens rather than take the likeliest
  std::optional<float> temperature = {};         ///< as SamplerSettings::temperature
  std::optional<float> top_p = {};               ///< as SamplerSettings::top_p
  std::optional<float> min_p = {};               ///< as SamplerSettings::min_p
  std::optional<float> repetition_penalty = {};  ///< as SamplerSettings::repetition_penalty
  std::optional<int32_t> top_k = {};             ///< as SamplerSettings::top_k
};

/// Reads the content of the file. Error: kDataLoss, naming what is wrong.
Result<GenerationConfig> ParseGenerationConfig(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/generation_config.h"
#endif

#endif  // SKALD_OPEN_GENERATION_CONFIG_H_
