// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/config/identify.h.

#ifndef SKALD_FAMILIES_CONFIG_DETAIL_IDENTIFY_H_
#define SKALD_FAMILIES_CONFIG_DETAIL_IDENTIFY_H_

#include "skald/families/config/identify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "skald/base/inline.h"
#include "skald/families/config/detail/differences.h"

namespace skald {

namespace internal {

SKALD_INLINE std::string Joined(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

inline Failure UnknownModelType(std::span<const NamedModel> known, std::string_view model_type) {
  std::vector<std::string> types;
  for (const NamedModel& one : known) {
    const std::string type(one.model.model_type);
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  return Fail(ErrorCode::kUnsupported, "the model_type is " + std::string(model_type) +
                                           ", but the Configs to choose from are of " + Joined(types));
}

SKALD_INLINE Result<size_t> FindModel(std::span<const NamedModel> known, const DescribedModel& model,
                                      std::string_view kind) {
  std::optional<size_t> nearest;
  std::vector<std::string> fewest;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].model.model_type != model.model_type) continue;
    std::vector<std::string> differences = Differences(model.spec, known[i].model.spec, kind);
    if (differences.empty()) return i;
    if (!nearest || differences.size() < fewest.size()) {
      nearest = i;
      fewest = std::move(differences);
    }
  }
  if (!nearest) return UnknownModelType(known, model.model_type);

  const std::string name(known[*nearest].name);
  return Fail(ErrorCode::kUnsupported, "no Config fits; the nearest, " + name + ", differs in " + Joined(fewest));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_DETAIL_IDENTIFY_H_
