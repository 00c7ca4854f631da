// SPDX-License-Identifier: Apache-2.0
//
// The definitions in store/, for the one source of a program that compiles them (skald/compiled.h).
// They need libcrypto, zstd and xxHash, as do the hash and the adapters listed here.

#ifndef SKALD_COMPILED_STORE_H_
#define SKALD_COMPILED_STORE_H_

#include "skald/base/numbers/detail/hmac_sha256.h"
#include "skald/base/numbers/detail/sha256.h"
#include "skald/model/detail/load_adapter.h"
#include "skald/store/backends/detail/authenticated_store.h"
#include "skald/store/backends/detail/chunk_folder.h"
#include "skald/store/backends/detail/directory_store.h"
#include "skald/store/backends/detail/memory_store.h"
#include "skald/store/chunks/detail/chunk_codec.h"
#include "skald/store/chunks/detail/chunk_frame.h"
#include "skald/store/chunks/detail/chunk_key.h"
#include "skald/store/chunks/detail/chunk_repair.h"
#include "skald/store/chunks/detail/chunk_store.h"
#include "skald/store/prompts/detail/edited_prompt.h"
#include "skald/store/prompts/detail/prompt_cache.h"
#include "skald/store/prompts/detail/prompt_entries.h"
#include "skald/store/prompts/detail/prompt_fetch.h"
#include "skald/store/prompts/detail/stored_prompts.h"
#include "skald/store/snapshots/detail/byte_io.h"
#include "skald/store/snapshots/detail/cached_digest.h"
#include "skald/store/snapshots/detail/identity.h"
#include "skald/store/snapshots/detail/manifest.h"
#include "skald/store/snapshots/detail/snapshot.h"
#include "skald/store/snapshots/detail/snapshot_plan.h"
#include "skald/store/snapshots/detail/snapshot_writer.h"
#include "skald/store/snapshots/detail/staged_cache.h"
#include "skald/store/snapshots/detail/state_source.h"
#include "skald/store/snapshots/detail/token_chain.h"
#include "skald/store/snapshots/detail/whole_state.h"

#endif  // SKALD_COMPILED_STORE_H_
