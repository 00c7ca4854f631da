// SPDX-License-Identifier: Apache-2.0
//
// Models that embed or rank texts, to be served.

#ifndef SKALD_EXAMPLES_SKALD_SERVED_SERVED_ENCODER_H_
#define SKALD_EXAMPLES_SKALD_SERVED_SERVED_ENCODER_H_

#include <cstdint>
#include <string>

#include "command_line/options.h"
#include "model_files/load_shape.h"
#include "server/service/models/model_at_work.h"
#include "skald/base/result.h"
#include "skald/open/model_info.h"

namespace skald::program {

// Whether a model is served as one that embeds or ranks texts: an encoder, a reranker, a decoder in a folder of
// sentence-transformers, or one that the options have ranking by yes or no. Error: an encoder's, whose files say what
// Skald does not have.
Result<bool> IsServedEncoder(const Options& options, const ModelInfo& info);

// Loads it. Clients call it `name`.
Result<serve::ModelAtWork> LoadServedEncoder(const Options& options, const ModelInfo& info, const std::string& name);

// The bytes of its weights.
Result<uint64_t> BytesOfServedEncoder(const LoadShape& shape);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_SERVED_SERVED_ENCODER_H_
