// SPDX-License-Identifier: Apache-2.0
//
// How tokens are to be drawn, as OpenAI's APIs name it, with the names that others gave to what OpenAI has not.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_SAMPLING_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_SAMPLING_H_

#include <string_view>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "skald/engine/requests/request.h"

namespace skald::serve {

// Reads temperature, top_p, top_k, min_p, seed, the penalties, logit_bias, n, priority, and the texts that end an
// answer under the name `stop`. A setting that the request does not name is as the model's publisher advises; the seed
// is then random.
void ReadSampling(JsonReader& reader, const Call& call, Request& request, std::string_view stop = "stop");

// Sets the most tokens of an answer to the least of what the client wants, if anything, and the tenant may have.
void SetMostTokens(std::optional<int64_t> wanted, const Call& call, Request& request);

// The model that a request names, or the model without an adapter if it names none or "default". Thrown: an unknown
// name.
const NamedModel& ReadModel(JsonReader& reader, const Call& call);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_SAMPLING_H_
