// SPDX-License-Identifier: Apache-2.0
//
// Rows of the registry by what files say.

#ifndef SKALD_FAMILIES_DETAIL_FIND_FAMILY_H_
#define SKALD_FAMILIES_DETAIL_FIND_FAMILY_H_

#include <string>
#include <string_view>

#include "skald/families/detail/family_rows.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::internal {

/// Returns the model_type of this name, or null.
inline const ModelType* FindModelType(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) {
      if (type.name == name) return &type;
    }
  }
  return nullptr;
}

/// Returns the one that multimodal models of this model_type have inside, or null.
inline const ModelType* FindInnerType(std::string_view outer) {
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) {
      if (!type.outer.empty() && type.outer == outer) return &type;
    }
  }
  return nullptr;
}

/// Returns the family with a model_type, or null.
inline const FamilyRow* FamilyOfModelType(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) {
      if (type.name == name) return &row;
    }
  }
  return nullptr;
}

/// Returns the family with an architecture of GGUF files, or null.
inline const FamilyRow* FamilyOfArchitecture(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& architecture : row.architectures) {
      if (architecture.name == name) return &row;
    }
  }
  return nullptr;
}

inline const GgufArchitecture* FindArchitecture(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& architecture : row.architectures) {
      if (architecture.name == name) return &architecture;
    }
  }
  return nullptr;
}

/// Returns the architecture that the metadata of a GGUF file name, or null. Nothing is allocated.
inline const GgufArchitecture* ArchitectureIn(const GgufMetadata& metadata) {
  const auto* const name = metadata.Get<std::string>("general.architecture");
  return name == nullptr ? nullptr : FindArchitecture(std::string_view(*name));
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_DETAIL_FIND_FAMILY_H_
