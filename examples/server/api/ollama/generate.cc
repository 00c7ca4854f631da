// SPDX-License-Identifier: Apache-2.0
//
// Texts that go on, as Ollama's API has them: docs.ollama.com/api/generate.

#include <optional>
#include <string>
#include <utility>

#include "server/api/answers/answer_form.h"
#include "server/api/chat/chat_call.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/infill.h"
#include "server/api/ollama/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"
#include "server/api/request/texts.h"

namespace skald::serve {
namespace {

// An answer to a prompt without a chat around it.
Answer ContinueText(const Call& call, OllamaRequest request, std::vector<int32_t> prompt, const RequestNotes& notes) {
  ChatCall& chat = request.chat;
  chat.request.prompt = std::move(prompt);
  chat.request.adapter = chat.model.adapter;
  chat.request.filter = FilterOfForm(call, chat.form, chat.request);
  SetLeastTokens(chat.least_tokens, call, chat.request);
  std::vector<Request> requests;
  requests.push_back(std::move(chat.request));
  return BeginAnswer(call, std::move(requests), {}, chat.is_stream, MakeOllamaDialect(std::move(request.form), notes));
}

}  // namespace

Answer OllamaGenerate(const Call& call) {
  BodyReader reader(call, "OllamaGenerateRequest");
  OllamaRequest request = ReadOllamaRequest(reader, call);
  request.form.is_chat = false;
  const std::string prompt = reader.String("prompt").value_or("");
  const std::string suffix = reader.String("suffix").value_or("");
  const auto system = reader.String("system");
  const bool is_raw = reader.Bool("raw").value_or(false);
  reader.Finish();
  if (!suffix.empty()) {
    auto ids = InfillPrompt(call, {.prefix = prompt, .suffix = suffix}, "suffix", request.chat.request);
    return ContinueText(call, std::move(request), std::move(ids), *reader.notes());
  }
  if (prompt.empty()) return JsonAnswer(LoadedJson(call, request), *reader.notes());
  if (is_raw) {
    return ContinueText(call, std::move(request), TokensOfText(prompt, "prompt", call, ParseSpecial::kYes),
                        *reader.notes());
  }
  if (system) request.chat.messages.push_back({{"role", "system"}, {"content", *system}});
  request.chat.messages.push_back({{"role", "user"}, {"content", prompt}});
  request.chat.path = "prompt";
  return AnswerChat(call, std::move(request.chat), MakeOllamaDialect(std::move(request.form), *reader.notes()));
}

}  // namespace skald::serve
