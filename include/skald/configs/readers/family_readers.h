// SPDX-License-Identifier: Apache-2.0
//
// The families that have readers of their own, which describe a model whole. Those whose layers the short form of a
// Config knows are read into that (config_json_transformer.h, config_json_recurrent.h, config_gguf.h).

#ifndef SKALD_CONFIGS_READERS_FAMILY_READERS_H_
#define SKALD_CONFIGS_READERS_FAMILY_READERS_H_

#include <string_view>

#include "skald/base/json/json_fields.h"
#include "skald/configs/form/short_form.h"
#include "skald/configs/readers/gemma4.h"
#include "skald/configs/readers/gpt_oss.h"
#include "skald/configs/readers/lfm2.h"
#include "skald/configs/readers/model_fields.h"

namespace skald::internal {

struct FamilyReader {
  std::string_view model_type;    // in config.json
  std::string_view architecture;  // in GGUF files
  DescribedModel (*read_json)(const JsonFields&);
  DescribedModel (*read_gguf)(const JsonFields&, const GgufTensorFacts&);
};

inline constexpr FamilyReader kFamilyReaders[] = {
    {Lfm2Family::kModelType, "lfm2", ReadLfm2, ReadLfm2Gguf},
    {Gemma4Family::kModelType, "gemma4", ReadGemma4, ReadGemma4Gguf},
    {GptOssFamily::kModelType, "gpt-oss", ReadGptOss, ReadGptOssGguf},
};

}  // namespace skald::internal

#endif  // SKALD_CONFIGS_READERS_FAMILY_READERS_H_
