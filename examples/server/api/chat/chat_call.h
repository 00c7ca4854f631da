// SPDX-License-Identifier: Apache-2.0
//
// ChatCall: what all chat APIs ask for, whatever they call it, and the prompt and request that it becomes.

#ifndef SKALD_EXAMPLES_SERVER_API_CHAT_CHAT_CALL_H_
#define SKALD_EXAMPLES_SERVER_API_CHAT_CHAT_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/answers/answer_form.h"
#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "skald/engine/requests/request.h"
#include "skald/open/tools/tools.h"

namespace skald::serve {

// A chat whose answer has come to its end, or has broken off.
struct AnsweredChat {
  const Json& messages;  // the answer is the last, if there is anything of it
  // The responses of OpenAI's API that wrote messages: see Conversation::writers.
  const std::vector<std::string>& writers;
  const std::vector<Choice>& choices;
};

struct ChatCall {
  NamedModel model = {};
  Json messages = Json::array();                 // as ReadMessages returns them
  std::vector<std::string> writers = {};         // of messages: see Conversation::writers
  std::optional<std::string> instructions = {};  // a system's message for this answer alone, before the messages
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
  Request request = {};                                       // without its prompt
  std::string path = "messages";                              // what errors of the prompt are about
  std::string response = {};                                  // of OpenAI's API that the answer is; empty: none
  std::function<void(const AnsweredChat& chat)> on_end = {};  // called when the answer is there, or has broken off
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

#endif  // SKALD_EXAMPLES_SERVER_API_CHAT_CHAT_CALL_H_
