// SPDX-License-Identifier: Apache-2.0
//
// The models that the options name, to be served: where they are, what they take, and how each is loaded.

#ifndef SKALD_EXAMPLES_SKALD_SERVED_SERVED_MODELS_H_
#define SKALD_EXAMPLES_SKALD_SERVED_SERVED_MODELS_H_

#include <memory>
#include <vector>

#include "command_line/options.h"
#include "server/service/models/models.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::program {

// Whether models are loaded when they are asked for: there is a folder of them, or more than one is named.
bool HasSeveralModels(const Options& options);

// Makes the models that the options name. The only one is loaded here; none of several is. Prompts outlive the process
// in `stores`, which must outlive the models, as the options must. Errors: those of loading; a folder without models;
// two models of one name; more memory than --memory.
Result<std::unique_ptr<serve::Models>> StartModels(const Options& options, const std::vector<ChunkStoreRef>& stores);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_SERVED_SERVED_MODELS_H_
