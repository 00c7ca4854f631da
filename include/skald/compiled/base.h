// SPDX-License-Identifier: Apache-2.0
//
// Definitions of base/, cache/ and sampling/, for the one source of a program that compiles them (skald/compiled.h).
// No library is needed.

#ifndef SKALD_COMPILED_BASE_H_
#define SKALD_COMPILED_BASE_H_

#include "skald/base/detail/aligned_buffer.h"
#include "skald/base/detail/message.h"
#include "skald/base/detail/printable.h"
#include "skald/base/detail/result.h"
#include "skald/base/files/detail/fd_io.h"
#include "skald/base/files/detail/folders.h"
#include "skald/base/files/detail/model_files.h"
#include "skald/base/files/detail/shard_index.h"
#include "skald/base/files/detail/small_file.h"
#include "skald/base/files/detail/system_call.h"
#include "skald/base/json/detail/json_tree.h"
#include "skald/base/json/detail/read_json.h"
#include "skald/base/numbers/detail/byte_codec.h"
#include "skald/base/numbers/detail/digest.h"
#include "skald/base/numbers/detail/group_layout.h"
#include "skald/base/numbers/detail/group_types.h"
#include "skald/base/numbers/detail/numeric.h"
#include "skald/base/numbers/detail/rope.h"
#include "skald/base/ranks/detail/communicator.h"
#include "skald/base/threads/detail/background_queue.h"
#include "skald/base/threads/detail/float_environment.h"
#include "skald/base/threads/detail/priority.h"
#include "skald/base/threads/detail/thread_pool.h"
#include "skald/cache/blocks/detail/block_ledger.h"
#include "skald/cache/blocks/detail/block_pool.h"
#include "skald/cache/blocks/detail/block_storage.h"
#include "skald/cache/blocks/detail/block_table.h"
#include "skald/cache/blocks/detail/reclaimers.h"
#include "skald/cache/blocks/detail/table_lease.h"
#include "skald/cache/detail/create.h"
#include "skald/cache/detail/kv_cache.h"
#include "skald/cache/detail/rebuild.h"
#include "skald/cache/detail/spare_bytes.h"
#include "skald/cache/form/detail/runtime_config.h"
#include "skald/cache/form/detail/tile.h"
#include "skald/cache/steps/detail/batch.h"
#include "skald/cache/steps/detail/step_plan.h"
#include "skald/cache/steps/detail/step_plan_bytes.h"
#include "skald/sampling/detail/candidates.h"
#include "skald/sampling/detail/logprobs.h"
#include "skald/sampling/detail/penalties.h"
#include "skald/sampling/detail/sampler.h"
#include "skald/sampling/detail/settings.h"

#endif  // SKALD_COMPILED_BASE_H_
