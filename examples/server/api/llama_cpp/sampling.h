// SPDX-License-Identifier: Apache-2.0
//
// How tokens are to be drawn, as llama.cpp names it, and Ollama after it.

#ifndef SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_SAMPLING_H_
#define SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_SAMPLING_H_

#include <cstdint>
#include <string_view>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "skald/engine/requests/request.h"

namespace skald::serve {

// Reads what ReadSampling does, and the most tokens of an answer under the name `most`, less than 0 for as many as fit.
// A seed below 0 is a random one. Penalties see the prompt. Returns the least tokens, as ReadSampling does.
uint32_t ReadLlamaSampling(JsonReader& reader, const Call& call, Request& request, std::string_view most);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_LLAMA_CPP_SAMPLING_H_
