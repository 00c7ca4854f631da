// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/model_info.h.

#ifndef SKALD_OPEN_DETAIL_MODEL_INFO_H_
#define SKALD_OPEN_DETAIL_MODEL_INFO_H_

#include "skald/open/model_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/families/published.h"
#include "skald/model/heads/published_head.h"
#include "skald/model/load_any.h"
#include "skald/open/model_file.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald {

namespace internal {

// Returns how long the texts were that the model learned from, as config.json says. No spec says it: it changes no
// logit.
inline uint32_t TrainedContext(const nlohmann::json& config) {
  for (const char* name : {"/max_position_embeddings", "/text_config/max_position_embeddings", "/n_positions"}) {
    const nlohmann::json::json_pointer field{std::string(name)};
    if (!config.contains(field) || !config[field].is_number_unsigned()) continue;
    return static_cast<uint32_t>(std::min<uint64_t>(config[field].get<uint64_t>(), kMaxTokens));
  }
  return 0;
}

// A packed file holds the numbers of a model, and of its family what config.json said that it was made from.
inline std::string FamilyOf(const DescribedModel& model, const nlohmann::json& config) {
  if (model.model_type != kPackedModelType) return std::string(model.model_type);
  const auto family = config.is_object() ? config.find("model_type") : config.end();
  return family != config.end() && family->is_string() ? family->get<std::string>() : "";
}

}  // namespace internal

SKALD_INLINE std::string NameAmong(std::span<const NamedSpec> known, const DescribedModel& model) {
  std::string name(model.model_type);
  for (const NamedSpec& one : known) {
    if (one.spec == model.spec) name = one.name;
  }
  return name;
}

SKALD_INLINE Result<ModelInfo> IdentifyModel(const OpenedModel& model, std::span<const NamedSpec> known) {
  return NoThrow(PathText(model.path()), [&]() -> Result<ModelInfo> {
    auto whether_known = DescribeModel(model);
    if (const char* const head = whether_known ? nullptr : PublishedHeadAt(model.path())) {
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({PathText(model.path()), ": is ", head,
                          ", which guesses tokens for a model and is none: give it as --draft-model"}));
    }
    SKALD_ASSIGN(auto described, std::move(whether_known));
    nlohmann::json config;
    const internal::JsonGuard guard(config);
    const bool is_json = internal::ParsePythonJson(ReadModelFile(model, "config.json").value_or(""), config).empty();
    if (!is_json) config = nullptr;
    std::string name = NameAmong(known, described), family = internal::FamilyOf(described, config);
    const DType type = model.packed() != nullptr ? model.packed()->table().dtype : DType::kBF16;
    return ModelInfo{
        model, type, std::move(described.spec), std::move(family), std::move(name), internal::TrainedContext(config)};
  });
}

SKALD_INLINE Result<ModelInfo> IdentifyModel(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto model, OpenedModel::Open(path));
  return IdentifyModel(model, PublishedModels());
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_MODEL_INFO_H_
