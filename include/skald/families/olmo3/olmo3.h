// SPDX-License-Identifier: Apache-2.0
//
// The Olmo 3 family (arXiv:2512.13961): the layers of OLMo 2, three with a window to one without. YaRN is of the layers
// without a window alone.

#ifndef SKALD_FAMILIES_OLMO3_OLMO3_H_
#define SKALD_FAMILIES_OLMO3_OLMO3_H_

#include <string_view>

#include "skald/families/config/layer.h"
#include "skald/families/olmo2/olmo2.h"

namespace skald {

struct Olmo3Family : Olmo2Family {
  static constexpr std::string_view kModelType = "olmo3";
  static constexpr RopeSpec kRope = {.base = 500000.0};
};

}  // namespace skald

#endif  // SKALD_FAMILIES_OLMO3_OLMO3_H_
