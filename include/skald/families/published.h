// SPDX-License-Identifier: Apache-2.0
//
// All published models that Skald has a Config for, as values. Their Configs are in the folders of their families
// (families/llama/llama.h); a program includes those that it names.

#ifndef SKALD_FAMILIES_PUBLISHED_H_
#define SKALD_FAMILIES_PUBLISHED_H_

#include <vector>

#include "skald/families/config/described_model.h"

namespace skald {

/// Returns them in the order of the registry, each family's in the order of its row.
std::vector<NamedSpec> PublishedModels();

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/published.h"
#endif

#endif  // SKALD_FAMILIES_PUBLISHED_H_
