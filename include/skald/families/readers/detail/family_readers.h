// SPDX-License-Identifier: Apache-2.0
//
// The families that have readers of their own, which describe a model whole. Those whose layers the short form of a
// Config knows are read into that (config_json_transformer.h, config_json_recurrent.h, config_gguf.h).

#ifndef SKALD_FAMILIES_READERS_DETAIL_FAMILY_READERS_H_
#define SKALD_FAMILIES_READERS_DETAIL_FAMILY_READERS_H_

#include <string_view>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/short_form.h"
#include "skald/families/deepseek_v3/detail/deepseek_v3.h"
#include "skald/families/falcon_h1/detail/falcon_h1.h"
#include "skald/families/gemma4/detail/gemma4.h"
#include "skald/families/gpt_oss/detail/gpt_oss.h"
#include "skald/families/granite4/detail/granite4.h"
#include "skald/families/lfm2/detail/lfm2.h"
#include "skald/families/nemotron_h/detail/nemotron_h.h"
#include "skald/families/qwen3_next/detail/qwen3_next.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/rwkv7/detail/rwkv7.h"

namespace skald::internal {

struct FamilyReader {
  std::string_view model_type;                     // in config.json
  std::string_view architecture;                   // in GGUF files, where these are read
  DescribedModel (*read_json)(const JsonFields&);  // null: another row reads config.json
  DescribedModel (*read_gguf)(const JsonFields&,
                              const GgufTensorFacts&);  // null: there are no such files, or they are not read
};

inline constexpr FamilyReader kFamilyReaders[] = {
    {Granite4Family::kModelType, "granitehybrid", nullptr, ReadGranite4Gguf},
    {Granite4Family::kModelType, "granite", nullptr, ReadGranite4Gguf},
    {Granite4Family::kModelType, "granitemoe", nullptr, ReadGranite4Gguf},
    {Lfm2Family::kModelType, "lfm2", ReadLfm2, ReadLfm2Gguf},
    {Lfm2MoeFamily::kModelType, "lfm2moe", ReadLfm2Moe, ReadLfm2MoeGguf},
    {Qwen3NextFamily::kModelType, "qwen3next", ReadQwen3Next, ReadQwen3NextGguf},
    {Qwen3_5Family::kModelType, "qwen35", ReadQwen3_5, ReadQwen3_5Gguf},
    {Qwen3_5MoeFamily::kModelType, "qwen35moe", ReadQwen3_5Moe, ReadQwen3_5MoeGguf},
    {NemotronHFamily::kModelType, "nemotron_h", ReadNemotronH, ReadNemotronHGguf},
    {NemotronHFamily::kModelType, "nemotron_h_moe", nullptr, ReadNemotronHMoeGguf},
    {FalconH1Family::kModelType, "falcon-h1", ReadFalconH1, ReadFalconH1Gguf},
    {Gemma4Family::kModelType, "gemma4", ReadGemma4, ReadGemma4Gguf},
    {GptOssFamily::kModelType, "gpt-oss", ReadGptOss, ReadGptOssGguf},
    {Rwkv7Family::kModelType, "rwkv7", ReadRwkv7, ReadRwkv7Gguf},
    {DeepSeekV3Family::kModelType, "deepseek2", ReadDeepSeekV3, ReadDeepSeek2Gguf},
    {Glm4MoeLiteFamily::kModelType, "", ReadGlm4MoeLite, nullptr},
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_FAMILY_READERS_H_
