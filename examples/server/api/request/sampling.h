// SPDX-License-Identifier: Apache-2.0
//
// How tokens are to be drawn, as OpenAI's APIs name it, with the names that others gave to what OpenAI has not.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_SAMPLING_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_SAMPLING_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "skald/engine/requests/request.h"

namespace skald::serve {

// More than any model writes.
inline constexpr int64_t kMostRequestTokens = int64_t{1} << 30;

// Reads temperature, top_p, top_k, min_p, seed, the penalties, logit_bias, n, priority, what ends an answer, the texts
// under the name `stop`, and what may not. A setting that the request does not name is as the model's publisher
// advises; the seed is then the server's, or random.
//
// Returns the least tokens of an answer, for SetLeastTokens.
uint32_t ReadSampling(JsonReader& reader, const Call& call, Request& request, std::string_view stop = "stop");

// Reads the most tokens of an answer under the first of `names` that the request has: -1 is as many as there is room
// for, 0 none. Nothing if it has none of them.
struct MostTokens {
  std::optional<uint32_t> tokens;  // unset: as many as there is room for
};
std::optional<MostTokens> ReadMostTokens(JsonReader& reader, std::initializer_list<const char*> names);

// Sets the most tokens of an answer to the least of what the client wants, if anything, and the tenant may have.
void SetMostTokens(std::optional<MostTokens> wanted, const Call& call, Request& request);

// Makes answers go on for `tokens` at least, whatever Request::filter allows. To be called when that is set.
void SetLeastTokens(uint32_t tokens, const Call& call, Request& request);

// The model that a request names, or the first one without an adapter if it names none or "default", and, unless names
// are strict, if there is no other model. It is the request's from now on: see Call::Use. Thrown: an unknown name; that
// the model is not loaded.
const NamedModel& ReadModel(JsonReader& reader, const Call& call);
// The same of a request that goes on from a conversation, if from any: where it names no model, the one that wrote the
// conversation's last answer, if that is served.
const NamedModel& ReadModelAfter(Conversations& kept, const std::optional<std::string>& id, JsonReader& reader,
                                 const Call& call);
// The same of a name that was read already; empty for none.
const NamedModel& ModelNamed(const std::string& name, const Call& call);
// The same of `?model=NAME`, by which requests without a body name it.
const NamedModel& ModelOfQuery(const Call& call);

// 404, with the names that there are.
ApiError NoSuchModel(const std::string& name, const Call& call);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_SAMPLING_H_
