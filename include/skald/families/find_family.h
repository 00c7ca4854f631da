// SPDX-License-Identifier: Apache-2.0
//
// Rows of the registry by what files say.

#ifndef SKALD_FAMILIES_FIND_FAMILY_H_
#define SKALD_FAMILIES_FIND_FAMILY_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "skald/families/readers/family_row.h"

namespace skald::internal {

/// Returns the model_type of this name, or null.
const ModelType* FindModelType(std::string_view name);

/// Returns the one that multimodal models of this model_type have inside, or null.
const ModelType* FindInnerType(std::string_view outer);

/// Returns the family with a model_type, or null.
const FamilyRow* FamilyOfModelType(std::string_view name);

/// Returns the family with an architecture of GGUF files, or null.
const FamilyRow* FamilyOfArchitecture(std::string_view name);

const GgufArchitecture* FindArchitecture(std::string_view name);

/// Returns the architecture that the metadata of a GGUF file name, or null. Nothing is allocated.
const GgufArchitecture* ArchitectureIn(const nlohmann::json& metadata);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/families/detail/find_family.h"
#endif

#endif  // SKALD_FAMILIES_FIND_FAMILY_H_
