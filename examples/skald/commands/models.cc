// SPDX-License-Identifier: Apache-2.0

#include "commands/models.h"

#include <algorithm>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_files/known_models.h"
#include "skald/families/published.h"
#include "skald/families/registry.h"

namespace skald::program {
namespace {

bool Has(const FamilyFacts& family, std::string_view model_type) {
  return std::ranges::find(family.model_types, model_type) != family.model_types.end();
}

// A row in Markdown.
void PrintFamily(const FamilyFacts& family, std::span<const NamedSpec> published) {
  std::string sizes;
  for (const NamedSpec& model : published) {
    if (Has(family, model.model_type)) sizes.append(sizes.empty() ? "" : ", ").append(model.name);
  }
  std::cout << "| " << family.name << " | " << sizes << " | " << (family.has_gguf ? "safetensors, GGUF" : "safetensors")
            << " | " << family.special << " | " << family.original << " |\n";
}

}  // namespace

Result<int> RunModels(const Options& options) {
  if (!options.show_families) {
    for (const std::string_view name : KnownModels()) std::cout << name << '\n';
    return 0;
  }
  std::cout << "| family | published sizes with a Config | files | what is special | compared with |\n"
               "|---|---|---|---|---|\n";
  const std::vector<NamedSpec> published = PublishedModels();
  for (const FamilyFacts& family : Families()) PrintFamily(family, published);
  return 0;
}

}  // namespace skald::program
