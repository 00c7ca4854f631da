// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of a Hugging Face checkpoint, in the spellings of versions 4 and 5 of the transformers library.
// A field is read, or cannot change a logit (lists of readers/passed/detail/ and of families: context length, token
// ids, dropout, dtype), or is refused by its name. One that is absent or null means what the configuration class of its
// model_type takes it to mean; sizes must be there. Nothing throws, whatever the text holds.

#ifndef SKALD_FAMILIES_CONFIG_JSON_H_
#define SKALD_FAMILIES_CONFIG_JSON_H_

#include <cstdint>
#include <string_view>
#include <variant>

#include "skald/base/result.h"
#include "skald/families/config/described_model.h"

namespace skald {

struct ShortForm;

namespace internal {

/// Multimodal models, whose language model is an object inside. The vision part is not read.
inline constexpr std::string_view kTextConfig = "text_config.";

}  // namespace internal

/// Most bytes of a config.json. Published ones have a few thousand.
inline constexpr uint64_t kMaxConfigJson = uint64_t{16} << 20;

namespace internal {

Result<std::variant<ShortForm, DescribedModel>> ReadConfigJson(std::string_view text);

/// Returns whether the text of a config.json names a family that Skald has a reader for. Errors: kOutOfRange and
/// kDataLoss of ParseConfigJson.
Result<bool> NamesKnownFamily(std::string_view text);

}  // namespace internal

/// Returns the model that the text of a config.json describes. Fails with kOutOfRange when it is longer than
/// kMaxConfigJson, kDataLoss when it is not a JSON object or a value cannot be right, kNotFound when a field is missing
/// that must be there, and kUnsupported when a model_type, RoPE type or other feature is none that Skald runs. The
/// sentence names the field.
Result<DescribedModel> ParseConfigJson(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/config_json.h"
#endif

#endif  // SKALD_FAMILIES_CONFIG_JSON_H_
