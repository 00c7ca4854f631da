// SPDX-License-Identifier: Apache-2.0
//
// The drafter that a head needs, by what its layers read.

#ifndef SKALD_ENGINE_SPECULATION_NEW_HEAD_DRAFTER_H_
#define SKALD_ENGINE_SPECULATION_NEW_HEAD_DRAFTER_H_

#include <memory>

#include "skald/base/result.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/requests/drafter.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/workspace.h"

namespace skald {

/// Returns a CacheHeadDrafter for a head that reads the model's caches, else a HeadDrafter with a pool of `runtime`.
/// The head and the workspace must outlive it; the workspace is not the engine's own. Errors: those of CreateBlockPool.
Result<std::unique_ptr<Drafter>> NewHeadDrafter(const DraftHead& head, const RuntimeConfig& runtime,
                                                Workspace& workspace);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/new_head_drafter.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_NEW_HEAD_DRAFTER_H_
