// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/find_named.h.

#ifndef SKALD_FAMILIES_DETAIL_FIND_NAMED_H_
#define SKALD_FAMILIES_DETAIL_FIND_NAMED_H_

#include "skald/families/find_named.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/families/config/differences.h"
#include "skald/families/registry.h"

namespace skald {

namespace internal {

SKALD_INLINE std::string Joined(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

inline Failure UnknownModelType(std::span<const NamedSpec> known, std::string_view model_type) {
  std::vector<std::string> types;
  for (const NamedSpec& one : known) {
    const std::string type(one.model_type);
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  return Fail(ErrorCode::kUnsupported, "the model_type is " + std::string(model_type) +
                                           ", but the Configs to choose from are of " + Joined(types));
}

}  // namespace internal

SKALD_INLINE Result<size_t> FindNamed(std::span<const NamedSpec> known, const DescribedModel& model) {
  return NoThrow("the list of Configs", [&]() -> Result<size_t> {
    std::optional<size_t> nearest;
    std::vector<std::string> fewest;
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i].model_type != model.model_type) continue;
      std::vector<std::string> differences =
          Differences(model.spec, known[i].spec, internal::FactNamesOf(model.model_type));
      if (differences.empty()) return i;
      if (!nearest || differences.size() < fewest.size()) {
        nearest = i;
        fewest = std::move(differences);
      }
    }
    if (!nearest) return internal::UnknownModelType(known, model.model_type);

    const std::string name(known[*nearest].name);
    return Fail(ErrorCode::kUnsupported, "the nearest Config, " + name + ", differs in " + internal::Joined(fewest));
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_FIND_NAMED_H_
