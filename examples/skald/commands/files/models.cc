// SPDX-License-Identifier: Apache-2.0

#include "commands/files/models.h"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "demo_model/demo_config.h"
#include "hub/hub_settings.h"
#include "hub/storage/hub_cache.h"
#include "model_files/known_models.h"
#include "model_files/known_repositories.h"
#include "skald/base/text/printable.h"
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
  std::string architectures;
  for (const std::string_view name : family.architectures) {
    architectures.append(architectures.empty() ? "`" : ", `").append(name).append("`");
  }
  std::cout << "| " << family.name << " | " << sizes << " | " << architectures << " | " << family.special << " | "
            << family.original << " |\n";
}

// Models in the cache of the hub; none if there is no such cache.
std::vector<CachedModel> ModelsOfHub() {
  const auto settings = ReadHubSettings();
  return settings ? CachedModels(settings->cache) : std::vector<CachedModel>();
}

std::string InCache(const CachedModel& model) {
  return "hub cache: " + model.repository + ", commit " + model.commit.substr(0, 12) + ", " +
         std::to_string((model.bytes + 999'999) / 1'000'000) + " MB: " + Printable(model.snapshot.native());
}

// Where a known model is, or how to get it.
std::string Origin(std::string_view name, std::span<const CachedModel> cached) {
  if (name == DemoModel::kName) return "folder: " + Printable(SKALD_DEMO_MODEL);
  const std::string_view repository = RepositoryOf(name);
  const auto there = std::ranges::find(cached, repository, &CachedModel::repository);
  if (there != cached.end()) return InCache(*there);
  return repository.empty() ? "from a folder or a GGUF file" : "skald pull " + std::string(repository);
}

void PrintRow(std::string_view name, const std::string& origin) {
  std::cout << std::left << std::setw(24) << name << ' ' << origin << '\n';
}

void PrintModels() {
  const std::vector<CachedModel> cached = ModelsOfHub();
  for (const std::string_view name : KnownModels()) PrintRow(name, Origin(name, cached));
  for (const CachedModel& model : cached) {
    const auto* const known = std::ranges::find(kKnownRepositories, model.repository, &KnownRepository::repository);
    if (known == std::end(kKnownRepositories)) PrintRow(model.repository, InCache(model));
  }
}

}  // namespace

Result<int> RunModels(const Options& options) {
  if (!options.show_families) {
    PrintModels();
    return 0;
  }
  std::cout << "| family | published sizes with a Config | GGUF architectures | what is special | compared with |\n"
               "|---|---|---|---|---|\n";
  const std::vector<NamedSpec> published = PublishedModels();
  for (const FamilyFacts& family : Families()) PrintFamily(family, published);
  return 0;
}

}  // namespace skald::program
