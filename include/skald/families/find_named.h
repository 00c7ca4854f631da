// SPDX-License-Identifier: Apache-2.0
//
// Finds which of the models that a program knows by name a checkpoint is, for people. Opening it needs no name
// (model/load_any.h). NamedSpecOf<C> (config/model_config.h) is that of a Config of your own.

#ifndef SKALD_FAMILIES_FIND_NAMED_H_
#define SKALD_FAMILIES_FIND_NAMED_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/families/config/described_model.h"

namespace skald {

/// Returns the index of the first of `known` that `model` is. Fails with kUnsupported when it is none of them; the
/// sentence names the one of the same model_type that differs in the fewest facts, and those facts with both values, as
/// config.json files of that model_type call them.
Result<size_t> FindNamed(std::span<const NamedSpec> known, const DescribedModel& model);

namespace internal {

std::string Joined(const std::vector<std::string>& parts);

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/find_named.h"
#endif

#endif  // SKALD_FAMILIES_FIND_NAMED_H_
