// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/new_head_drafter.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_NEW_HEAD_DRAFTER_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_NEW_HEAD_DRAFTER_H_

#include "skald/engine/speculation/new_head_drafter.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/create.h"
#include "skald/engine/speculation/cache_head_drafter.h"
#include "skald/engine/speculation/head_drafter.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<Drafter>> NewHeadDrafter(const DraftHead& head, const RuntimeConfig& runtime,
                                                             Workspace& workspace) {
  return NoThrow("NewHeadDrafter", [&]() -> Result<std::unique_ptr<Drafter>> {
    if (head.reads_cache()) return std::make_unique<CacheHeadDrafter>(head, workspace);
    SKALD_ASSIGN(auto pool, CreateBlockPool(head.body().layout(), runtime));
    return std::make_unique<HeadDrafter>(head, std::move(pool), workspace);
  });
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_NEW_HEAD_DRAFTER_H_
