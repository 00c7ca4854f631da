// SPDX-License-Identifier: Apache-2.0
//
// The server's model, its load and its rendering of chats, as llama.cpp's server tells of them.

#include <algorithm>
#include <string>
#include <utility>

#include "server/api/chat/chat_call.h"
#include "server/api/chat/messages.h"
#include "server/api/chat/tool_reading.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/query_reader.h"
#include "server/api/request/sampling.h"
#include "skald/base/version.h"

namespace skald::serve {
namespace {

std::string PieceOf(const Tokenizer& tokenizer, std::optional<int32_t> id) {
  return id ? std::string(tokenizer.IdToPiece(*id).value_or("")) : std::string();
}

// Of a server of several models, for a client that names none and wants none to be loaded.
Json PropsOfServer(const std::string& built) {
  return {{"role", "router"},
          {"models_autoload", true},
          {"default_generation_settings", {{"n_ctx", 0}, {"params", Json::object()}}},
          {"model_alias", "skald"},
          {"model_path", ""},
          {"build_info", built}};
}

}  // namespace

Answer LlamaCppProps(const Call& call) {
  const auto built = "skald " + std::to_string(SKALD_VERSION_MAJOR) + "." + std::to_string(SKALD_VERSION_MINOR) + "." +
                     std::to_string(SKALD_VERSION_PATCH);
  const Json query = QueryJson(call.http.query);
  if (query.value("autoload", Json(true)) == false) {
    const auto named = query.find("model");
    if (named == query.end() && call.service->models().List().size() > 1) return JsonAnswer(PropsOfServer(built));
    const auto served =
        call.service->NameOf(named == query.end() || !named->is_string() ? "" : named->get<std::string>());
    if (served && call.service->models().Take(*served) == nullptr) {
      throw ApiError{400, "the model '" + *served + "' is not loaded", "model"};
    }
  }
  const std::string& name = ModelOfQuery(call).name;
  const ModelService& model = call.model();
  const ModelText& text = model.served().text;
  return JsonAnswer(
      {{"default_generation_settings", {{"n_ctx", model.context()}, {"params", SettingsJson(text.sampler)}}},
       {"total_slots", call.service->most_running()},
       {"model_alias", name},
       {"model_path", name},  // its path is not told
       {"modalities", {{"vision", false}, {"audio", false}}},
       {"chat_template", text.chat_template.source()},
       {"bos_token", PieceOf(text.tokenizer, text.tokenizer.bos_id())},
       {"eos_token", PieceOf(text.tokenizer, text.tokenizer.eos_id())},
       {"build_info", built}});
}

// A slot is the place of an answer that is being computed. Answers do not keep theirs, so a slot says only whether it
// is taken.
Answer LlamaCppSlots(const Call& call) {
  (void)ModelOfQuery(call);
  const uint64_t running = call.model().stats().engine.running;
  const uint32_t most = call.service->most_running();
  if (running >= most && call.http.query.find("fail_on_no_slot=1") != std::string::npos) {
    throw ApiError{503, "no slot is free"};
  }
  Json slots = Json::array();
  for (uint32_t i = 0; i < most; ++i) {
    slots.push_back({{"id", i}, {"n_ctx", call.model().context()}, {"is_processing", i < running}});
  }
  return JsonAnswer(slots);
}

Answer LlamaCppApplyTemplate(const Call& call) {
  BodyReader reader(call, "TemplateRequest");
  ChatCall chat;
  chat.model = ReadModel(reader, call);
  chat.messages = ReadMessages(reader.NeedArray("messages"), "messages", reader.notes());
  chat.tools = ReadTools(reader, kChatTools).list;
  if (const auto variables = reader.Object("chat_template_kwargs")) chat.variables = variables->json();
  chat.add_generation_prompt = reader.Bool("add_generation_prompt").value_or(true);
  reader.Finish();
  return JsonAnswer({{"prompt", RenderPrompt(call, chat)}}, *reader.notes());
}

}  // namespace skald::serve
