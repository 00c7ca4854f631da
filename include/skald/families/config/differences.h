// SPDX-License-Identifier: Apache-2.0
//
// In which facts two models differ, called as the file that one of them is read from calls them, so that a person can
// find them there.

#ifndef SKALD_FAMILIES_CONFIG_DIFFERENCES_H_
#define SKALD_FAMILIES_CONFIG_DIFFERENCES_H_

#include <span>
#include <string>
#include <vector>

#include "skald/families/config/fact_names.h"
#include "skald/layers/model_spec.h"

namespace skald {

/// Returns the facts in which two models differ, as in "num_hidden_layers (23, expected 22)"; none if they are equal.
/// `names` are those of the file that tells of one of them, where they are not the usual ones. Throws std::bad_alloc.
std::vector<std::string> Differences(const ModelSpec& actual, const ModelSpec& expected,
                                     std::span<const internal::FactRenaming> names = {});

/// The same for a model that a GGUF file describes, whose numbers were rounded to floats. Facts without a name of their
/// own, as in sizes of some blocks, are passed over.
std::vector<std::string> DifferencesBeyondRounding(const ModelSpec& actual, const ModelSpec& expected);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/config/detail/differences.h"
#endif

#endif  // SKALD_FAMILIES_CONFIG_DIFFERENCES_H_
