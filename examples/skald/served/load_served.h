// SPDX-License-Identifier: Apache-2.0
//
// Loads one model to be served.

#ifndef SKALD_EXAMPLES_SKALD_SERVED_LOAD_SERVED_H_
#define SKALD_EXAMPLES_SKALD_SERVED_LOAD_SERVED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "command_line/options.h"
#include "server/service/models/model_at_work.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::program {

// Loads the model at Options::model, with its adapters, and starts its engine. Clients call it by `name`, or by its own
// name if that is empty. Options::runtime has the bytes of its caches. The stores must outlive it.
Result<serve::ModelAtWork> LoadServed(const Options& options, const std::string& name,
                                      const std::vector<ChunkStoreRef>& stores);

// The most bytes that it will take: weights and caches. No weights are read.
Result<uint64_t> BytesOfServed(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_SERVED_LOAD_SERVED_H_
