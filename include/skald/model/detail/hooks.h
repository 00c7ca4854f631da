// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/hooks.h.

#ifndef SKALD_MODEL_DETAIL_HOOKS_H_
#define SKALD_MODEL_DETAIL_HOOKS_H_

#include "skald/model/hooks.h"

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

SKALD_INLINE std::span<float> HookRows::values() const {
  if (stride != cols && rows() > 1) return {};
  return {data, rows() * cols};
}

SKALD_INLINE void HookRows::Fail(std::string reason) {
  status_ = skald::Fail(ErrorCode::kFailedPrecondition, Concat({"the hook at ", place.name, ": ", reason}));
}

SKALD_INLINE std::string StreamBefore(size_t block) { return "stream." + std::to_string(block); }

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_HOOKS_H_
