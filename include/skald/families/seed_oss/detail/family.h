// SPDX-License-Identifier: Apache-2.0
//
// Seed-OSS: its row of the registry.

#ifndef SKALD_FAMILIES_SEED_OSS_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_SEED_OSS_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/seed_oss/seed_oss.h"

namespace skald::internal {

inline FamilyRules SeedOssRules() {
  return {.implied = ShortFormOf<SeedOssFamily>(),
          .head_dim = 128,
          .kv_heads_given = false,
          .reads_feed_forward_bias = true};
}

inline TextModel ReadSeedOss(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, SeedOssRules());
  a.qkv_bias = fields.Flag("attention_bias", true);
  a.attention_output_bias = fields.Flag("attention_out_bias", false);
  return a;
}

inline constexpr PassedFields kSeedOssPassedJson[] = {{"how the model is trained", "", "residual_dropout"}};

inline constexpr ModelType kSeedOssTypes[] = {{.name = SeedOssFamily::kModelType, .read = ReadSeedOss}};

inline constexpr Renaming kSeedOssGgufNames[] = {{"feed_forward_norm.", "post_attention_norm."}};

inline constexpr GgufArchitecture kSeedOssArchitectures[] = {
    {.name = "seed_oss", .read = ReadGgufWith<SeedOssRules>, .is_written = true, .written_names = kSeedOssGgufNames}};

struct SeedOssRow {
  static constexpr FamilyRow kRow = {.name = "Seed-OSS",
                                     .special = "QKV bias, wide heads",
                                     .model_types = kSeedOssTypes,
                                     .architectures = kSeedOssArchitectures,
                                     .passed_json = kSeedOssPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_SEED_OSS_DETAIL_FAMILY_H_
