// SPDX-License-Identifier: Apache-2.0
//
// The definitions in cache/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_CACHE_H_
#define SKALD_COMPILED_CACHE_H_

#include "skald/cache/blocks/detail/block_ledger.h"
#include "skald/cache/blocks/detail/block_pool.h"
#include "skald/cache/blocks/detail/block_storage.h"
#include "skald/cache/blocks/detail/block_table.h"
#include "skald/cache/blocks/detail/reclaimers.h"
#include "skald/cache/blocks/detail/table_bytes.h"
#include "skald/cache/blocks/detail/table_lease.h"
#include "skald/cache/detail/cached_layer.h"
#include "skald/cache/detail/create.h"
#include "skald/cache/detail/kv_cache.h"
#include "skald/cache/detail/rebuild.h"
#include "skald/cache/detail/spare_bytes.h"
#include "skald/cache/layout/detail/runtime_config.h"
#include "skald/cache/layout/detail/tile.h"
#include "skald/cache/steps/detail/batch.h"
#include "skald/cache/steps/detail/step_plan.h"
#include "skald/cache/steps/detail/step_plan_bytes.h"

#endif  // SKALD_COMPILED_CACHE_H_
