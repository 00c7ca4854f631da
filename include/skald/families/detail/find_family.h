// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/find_family.h.

#ifndef SKALD_FAMILIES_DETAIL_FIND_FAMILY_H_
#define SKALD_FAMILIES_DETAIL_FIND_FAMILY_H_

#include "skald/families/find_family.h"

#include <string>

#include "skald/base/inline.h"
#include "skald/families/detail/family_rows.h"

namespace skald::internal {

SKALD_INLINE const ModelType* FindModelType(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) {
      if (type.name == name) return &type;
    }
  }
  return nullptr;
}

SKALD_INLINE const ModelType* FindInnerType(std::string_view outer) {
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) {
      if (!type.outer.empty() && type.outer == outer) return &type;
    }
  }
  return nullptr;
}

SKALD_INLINE const FamilyRow* FamilyOfModelType(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) {
      if (type.name == name) return &row;
    }
  }
  return nullptr;
}

SKALD_INLINE const FamilyRow* FamilyOfArchitecture(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& architecture : row.architectures) {
      if (architecture.name == name) return &row;
    }
  }
  return nullptr;
}

SKALD_INLINE const GgufArchitecture* FindArchitecture(std::string_view name) {
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& architecture : row.architectures) {
      if (architecture.name == name) return &architecture;
    }
  }
  return nullptr;
}

SKALD_INLINE const GgufArchitecture* ArchitectureIn(const nlohmann::json& metadata) {
  const auto found = metadata.find("general.architecture");
  const auto* const name = found == metadata.end() ? nullptr : found->get_ptr<const std::string*>();
  return name == nullptr ? nullptr : FindArchitecture(std::string_view(*name));
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_DETAIL_FIND_FAMILY_H_
