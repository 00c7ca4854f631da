// SPDX-License-Identifier: Apache-2.0
//
// The inverse of Expand: from a ModelSpec to the sizes that its layers share.

#ifndef SKALD_CONFIGS_FORM_SHORTEN_H_
#define SKALD_CONFIGS_FORM_SHORTEN_H_

#include <optional>

#include "skald/configs/form/short_form.h"
#include "skald/layers/model_spec.h"

namespace skald {

// Returns the short form that Expand makes `spec` of; nothing where its blocks differ in more than their kinds.
std::optional<ShortForm> Shorten(const ModelSpec& spec);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/configs/form/detail/shorten.h"
#endif

#endif  // SKALD_CONFIGS_FORM_SHORTEN_H_
