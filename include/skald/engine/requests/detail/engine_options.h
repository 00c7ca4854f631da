// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/requests/engine_options.h.

#ifndef SKALD_ENGINE_REQUESTS_DETAIL_ENGINE_OPTIONS_H_
#define SKALD_ENGINE_REQUESTS_DETAIL_ENGINE_OPTIONS_H_

#include "skald/engine/requests/engine_options.h"

#include <algorithm>
#include <chrono>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

SKALD_INLINE PromptCache* EngineOptions::PromptsOf(const Sha256Digest& adapter) const {
  const auto is_its = [&](const PromptCache* one) { return one->adapter() == adapter; };
  const auto found = std::ranges::find_if(prompts, is_its);
  return found == prompts.end() ? nullptr : *found;
}

}  // namespace skald

#endif  // SKALD_ENGINE_REQUESTS_DETAIL_ENGINE_OPTIONS_H_
