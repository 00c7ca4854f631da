// SPDX-License-Identifier: Apache-2.0
//
// Mamba-2: its row of the registry.

#ifndef SKALD_FAMILIES_MAMBA2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MAMBA2_DETAIL_FAMILY_H_

#include "skald/families/mamba2/detail/mamba2.h"
#include "skald/families/mamba2/mamba2.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/mamba_fields.h"

namespace skald::internal {

inline constexpr PassedFields kMamba2PassedJson[] = {
    {"the number of key heads there is no other way to choose", "", "time_step_rank"}, kPaddedVocabulary};

inline constexpr ModelType kMamba2Types[] = {
    {.name = Mamba2Family::kModelType, .read = ReadOne<ReadMamba2>, .fact_names = kMambaFactNames}};

inline constexpr GgufArchitecture kMamba2Architectures[] = {
    {.name = "mamba2", .read = ReadOneGguf<ReadMamba2Gguf>, .is_written = true, .change_draft = ChangeMamba2}};

struct Mamba2Row {
  static constexpr FamilyRow kRow = {.name = "Mamba-2",
                                     .special = "the same by heads",
                                     .model_types = kMamba2Types,
                                     .architectures = kMamba2Architectures,
                                     .passed_json = kMamba2PassedJson};
  using Published = ConfigTypes<Mamba2_130M, Mamba2_370M, Mamba2_780M, Mamba2_1_3B, Mamba2_2_7B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MAMBA2_DETAIL_FAMILY_H_
