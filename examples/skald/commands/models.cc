// SPDX-License-Identifier: Apache-2.0

#include "commands/models.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "model_files/identify_model.h"
#include "skald/families/family_facts.h"
#include "skald/families/published.h"

namespace skald::program {
namespace {

struct PublishedName {
  std::string_view model_type, name;
};

template <ModelConfig... Configs>
std::vector<PublishedName> NamesOf(ConfigList<Configs...>) {
  return {{Configs::kModelType, Configs::kName}...};
}

bool Has(const FamilyFacts& family, std::string_view model_type) {
  return std::ranges::find(family.model_types, model_type) != family.model_types.end();
}

// A row in Markdown.
void PrintFamily(const FamilyFacts& family) {
  std::string sizes;
  for (const auto& [model_type, name] : NamesOf(PublishedConfigs{})) {
    if (Has(family, model_type)) sizes.append(sizes.empty() ? "" : ", ").append(name);
  }
  std::cout << "| " << family.name << " | " << sizes << " | "
            << (ReadsGguf(family.model_types.front()) ? "safetensors, GGUF" : "safetensors") << " | " << family.special
            << " | " << family.original << " |\n";
}

}  // namespace

Result<int> RunModels(const Options& options) {
  if (!options.show_families) {
    for (const std::string_view name : KnownModels()) std::cout << name << '\n';
    return 0;
  }
  std::cout << "| family | published sizes with a Config | files | what is special | compared with |\n"
               "|---|---|---|---|---|\n";
  for (const FamilyFacts& family : kFamilyFacts) PrintFamily(family);
  return 0;
}

}  // namespace skald::program
