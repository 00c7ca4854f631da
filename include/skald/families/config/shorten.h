// SPDX-License-Identifier: Apache-2.0
//
// The inverse of Expand: from a ModelSpec to the sizes that its layers share.

#ifndef SKALD_FAMILIES_CONFIG_SHORTEN_H_
#define SKALD_FAMILIES_CONFIG_SHORTEN_H_

#include <optional>

#include "skald/families/config/short_form.h"
#include "skald/layers/model_spec.h"

namespace skald {

/// Returns the short form that Expand makes `spec` of; nothing where its blocks differ in more than their kinds.
std::optional<ShortForm> Shorten(const ModelSpec& spec);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/config/detail/shorten.h"
#endif

#endif  // SKALD_FAMILIES_CONFIG_SHORTEN_H_
