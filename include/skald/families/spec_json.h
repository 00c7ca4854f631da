// SPDX-License-Identifier: Apache-2.0
//
// A ModelSpec as JSON, for files that say what model they hold. Layers are told by the names of their types and
// members. Pure; safe for concurrent calls.

#ifndef SKALD_FAMILIES_SPEC_JSON_H_
#define SKALD_FAMILIES_SPEC_JSON_H_

#include <string>
#include <string_view>

#include "skald/base/result.h"
#include "skald/layers/model_spec.h"

namespace skald {

/// Returns the spec as a text in JSON. Its layers are of the standard kinds.
Result<std::string> SpecToJson(const ModelSpec& spec);

/// Returns the spec that SpecToJson wrote. Errors: kDataLoss for what is no such text, naming the member that is
/// missing or wrong; kUnsupported for a model that cannot be.
Result<ModelSpec> SpecFromJson(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/spec_json.h"
#endif

#endif  // SKALD_FAMILIES_SPEC_JSON_H_
