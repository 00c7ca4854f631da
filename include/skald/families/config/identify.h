// SPDX-License-Identifier: Apache-2.0
//
// Which of a list of Configs a checkpoint is, so that a program can be handed a folder and picks the Config
// at run time:
//
//   const Result<size_t> index = IdentifyConfig(PublishedConfigs{}, text_of_config_json);
//   if (index) VisitConfig(PublishedConfigs{}, *index, [&]<ModelConfig C>() { ... });

#ifndef SKALD_FAMILIES_CONFIG_IDENTIFY_H_
#define SKALD_FAMILIES_CONFIG_IDENTIFY_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/families/config/config_list.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/config_json.h"

namespace skald {
namespace internal {

struct NamedModel {
  std::string_view name;
  DescribedModel model;
};

std::string Joined(const std::vector<std::string>& parts);

// `kind` is that of Differences.
Result<size_t> FindModel(std::span<const NamedModel> known, const DescribedModel& model, std::string_view kind);

template <ModelConfig C>
DescribedModel DescribeConfig() {
  static_assert(
      requires { C::kModelType; },
      "A Config must give kModelType, the \"model_type\" of config.json, to be recognised by it.");
  return {C::kModelType, SpecOf<C>()};
}

template <ModelConfig... Configs>
Result<size_t> FindConfigOf(ConfigList<Configs...>, const DescribedModel& model, std::string_view kind) {
  return NoThrow("the list of Configs", [&] {
    const std::vector<NamedModel> known = {{Configs::kName, DescribeConfig<Configs>()}...};
    return FindModel(known, model, kind);
  });
}

}  // namespace internal

// Returns the index of the first Config of the list that `model` is. Fails with kUnsupported when it is none
// of them; the sentence names the Config of the same model_type that differs in the fewest fields, and those
// fields with both values.
template <ModelConfig... Configs>
Result<size_t> FindConfig(ConfigList<Configs...> list, const DescribedModel& model) {
  return internal::FindConfigOf(list, model, model.model_type);
}

// The same for the text of a checkpoint's config.json. Fails also as ParseConfigJson does.
template <ModelConfig... Configs>
Result<size_t> IdentifyConfig(ConfigList<Configs...> list, std::string_view config_json) {
  return NoThrow("config.json", [&]() -> Result<size_t> {
    const Result<DescribedModel> model = ParseConfigJson(config_json);
    if (!model) return Failure(model.error());
    const Result<size_t> index = FindConfig(list, *model);
    if (!index) return Annotate("config.json", index);
    return index;
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/config/detail/identify.h"
#endif

#endif  // SKALD_FAMILIES_CONFIG_IDENTIFY_H_
