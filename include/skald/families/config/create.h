// SPDX-License-Identifier: Apache-2.0
//
// The factories of cache/create.h for the layout that follows from a Config.

#ifndef SKALD_FAMILIES_CONFIG_CREATE_H_
#define SKALD_FAMILIES_CONFIG_CREATE_H_

#include <memory>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/create.h"
#include "skald/families/config/model_config.h"

namespace skald {

template <ModelConfig C>
Result<std::shared_ptr<BlockPool>> CreateBlockPool(const RuntimeConfig& runtime = {}) {
  return NoThrow("CreateBlockPool", [&] { return CreateBlockPool(LayoutOf<C>(), runtime); });
}

template <ModelConfig C>
Result<std::shared_ptr<BlockPool>> CreateLedgerPool(const RuntimeConfig& runtime = {}) {
  return NoThrow("CreateLedgerPool", [&] { return CreateLedgerPool(LayoutOf<C>(), runtime); });
}

template <ModelConfig C>
Result<KVCache> CreateKVCache(const RuntimeConfig& runtime = {}, const Sha256Digest& adapter = {}) {
  return NoThrow("CreateKVCache", [&] { return CreateKVCache(LayoutOf<C>(), runtime, adapter); });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_CREATE_H_
