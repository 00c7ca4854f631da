// SPDX-License-Identifier: Apache-2.0

#include "model_files/known_models.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "demo_model/demo_config.h"
#include "skald/families/config/config_text.h"
#include "skald/families/config/model_config.h"
#include "skald/families/find_named.h"
#include "skald/families/llama/llama.h"
#include "skald/families/published.h"
#include "skald/model/load_any.h"

namespace skald::program {
namespace {

// The models that have a Config: the published ones, and the demo model.
const std::vector<NamedSpec>& AllKnown() {
  static const std::vector<NamedSpec> models = [] {
    std::vector<NamedSpec> all = PublishedModels();
    all.push_back(NamedSpecOf<DemoModel>());
    return all;
  }();
  return models;
}

// Only programs that compile one model need its Config.
constexpr const char* kNotNeeded = "none is needed to run it";

}  // namespace

Result<ModelInfo> IdentifyModel(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto model, OpenedModel::Open(path));
  return IdentifyModel(model);
}

Result<ModelInfo> IdentifyModel(const OpenedModel& model) { return skald::IdentifyModel(model, AllKnown()); }

std::optional<std::string> WhyNoConfig(const OpenedModel& model) {
  const auto described = DescribeModel(model);
  if (!described) return "none: " + described.error().message;
  if (described->model_type == kPackedModelType) {
    const std::string name = NameAmong(AllKnown(), *described);
    return name == described->model_type ? std::optional<std::string>(kNotNeeded) : std::nullopt;
  }
  const auto found = FindNamed(AllKnown(), *described);
  return found ? std::nullopt : std::optional(kNotNeeded + ("; " + found.error().message));
}

Result<std::string> ConfigOf(const OpenedModel& model) {
  SKALD_ASSIGN(auto described, DescribeModel(model));
  if (described.model_type == kPackedModelType) described.model_type = {};
  std::error_code ignored;  // a path that cannot be made absolute names the model as it is
  const auto whole = std::filesystem::absolute(model.folder(), ignored).lexically_normal();
  const auto named = whole.has_filename() ? whole : whole.parent_path();
  const auto name = std::filesystem::is_directory(named, ignored) ? named.filename() : named.stem();
  return ConfigText(described, name.native());
}

Result<ModelSpec> FindModelByName(std::string_view name) {
  const auto known = std::ranges::find(AllKnown(), name, &NamedSpec::name);
  if (known != AllKnown().end()) return known->spec;
  return Fail(ErrorCode::kNotFound, std::string(name) + " is none of the models that 'skald models' lists");
}

std::vector<std::string_view> KnownModels() {
  std::vector<std::string_view> names;
  for (const NamedSpec& known : AllKnown()) names.push_back(known.name);
  return names;
}

}  // namespace skald::program
