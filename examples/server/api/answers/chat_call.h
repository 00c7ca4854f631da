// SPDX-License-Identifier: Apache-2.0
//
// ChatCall: what all chat APIs ask for, whatever they call it, and the prompt and request that it becomes.

#ifndef SKALD_EXAMPLES_SERVER_API_ANSWERS_CHAT_CALL_H_
#define SKALD_EXAMPLES_SERVER_API_ANSWERS_CHAT_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/call.h"
#include "server/api/request/answer_form.h"
#include "server/api/request/json_reader.h"
#include "skald/engine/requests/request.h"
#include "skald/open/tools/tools.h"

namespace skald::serve {

struct ChatCall {
  NamedModel model = {};
  Json messages = Json::array();  // as ReadMessages returns them
  ToolList tools = {};
  Json variables = Json::object();               // of the chat template
  Json documents = {};                           // of it, too; null: none
  AnswerForm form = {};                          // that the answer must have
  uint32_t least_tokens = 0;                     // of the answer
  std::optional<std::string> conversation = {};  // the messages go on from
  bool continues = false;                        // the answer goes on with the last message
  bool add_generation_prompt = true;             // the prompt ends where the answer begins
  std::optional<std::string> salt = {};          // whose state it shares, where that is not all of its tenant's
  bool is_stream = false;
  Request request = {};                                        // without its prompt
  std::string path = "messages";                               // what errors of the prompt are about
  std::function<void(const Json& messages)> on_messages = {};  // gets the whole chat, the answer last, when it is there
};

// Renders the chat, and answers it. Messages of the conversation come before those of the call; it has them before the
// answer is computed, and gets the answer at its end. Thrown: what the template, the schema, the tools or the engine
// cannot do; 409 where another answer of the conversation is being written.
std::unique_ptr<Exchange> AnswerChat(const Call& call, ChatCall chat, std::unique_ptr<Dialect> dialect);

// The number of tokens of its prompt.
size_t CountPromptTokens(const Call& call, ChatCall chat);

// Its prompt as text.
std::string RenderPrompt(const Call& call, const ChatCall& chat);

// Reads Anthropic's `thinking`, which others took over: whether the model shall think.
bool ReadThinking(JsonReader& thinking);

// The answer as a message, as ReadMessages returns them.
Json MessageOf(const Choice& choice);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ANSWERS_CHAT_CALL_H_
