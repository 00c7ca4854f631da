// SPDX-License-Identifier: Apache-2.0
//
// EuroBERT: its row of the registry.

#ifndef SKALD_FAMILIES_EUROBERT_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_EUROBERT_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/eurobert/eurobert.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

inline FamilyRules EuroBertRules() {
  return {.implied = ShortFormOf<EuroBertFamily>(), .kv_heads_given = false, .standard_epsilon = 1e-5};
}

// An encoder has no output head, whatever the file says of one.
inline TextModel ReadEuroBert(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, EuroBertRules());
  a.tied_embeddings = true;
  return a;
}

inline DescribedModel ReadEuroBertGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  fields.Expect("attention.causal", false);
  const ShortForm a = ReadGgufModel(fields, EuroBertRules(), facts);
  return {a.model_type, Expand(a)};
}

inline constexpr PassedFields kEuroBertPassedJson[] = {{"of a head for classes", "", "classifier_pooling"}};

inline constexpr ModelType kEuroBertTypes[] = {{.name = EuroBertFamily::kModelType, .read = ReadEuroBert}};

inline constexpr GgufArchitecture kEuroBertArchitectures[] = {
    {.name = "eurobert", .read = ReadOneGguf<ReadEuroBertGguf>, .is_written = true}};

struct EuroBertRow {
  static constexpr FamilyRow kRow = {.name = "EuroBERT (encoder)",
                                     .special = "Llama whose attention sees both ways",
                                     .model_types = kEuroBertTypes,
                                     .architectures = kEuroBertArchitectures,
                                     .passed_json = kEuroBertPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_EUROBERT_DETAIL_FAMILY_H_
