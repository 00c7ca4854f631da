// SPDX-License-Identifier: Apache-2.0
//
// Responses that are kept: what each showed, and the messages that later ones go on from.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_KEPT_RESPONSES_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_KEPT_RESPONSES_H_

#include <optional>
#include <string>

#include "server/api/call.h"
#include "server/api/chat/chat_call.h"
#include "server/api/openai/responses/input.h"
#include "server/api/openai/responses/writer.h"
#include "server/service/service.h"

namespace skald::serve {

// Keeps a response at its end. One for which there is no room was answered nevertheless.
void KeepResponse(Service& service, const std::string& tenant, const AnsweredChat& answered, ResponseWriter& writer);

// Returns what is kept of a response. Thrown: 404 if there is nothing, about the field `param`.
Conversation FindKeptResponse(const Call& call, const std::string& id, std::optional<std::string> param = {});

// Finds the messages of responses by their ids; `call` must outlive it.
FindMessages FinderOfMessages(const Call& call);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_KEPT_RESPONSES_H_
