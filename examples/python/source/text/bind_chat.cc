// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/cache/create.h"
#include "skald/open/chat.h"
#include "skald/open/conversation.h"
#include "text/conversations.h"
#include "values/errors.h"
#include "values/json.h"

namespace skald::python {

namespace {

using Sink = std::optional<nb::callable>;

Chat ChatOf(nb::list messages, nb::object tools, nb::object documents, nb::object variables, bool add_generation_prompt,
            bool continue_final_message) {
  Chat chat;
  chat.messages = JsonOf(messages);
  if (!tools.is_none()) chat.tools = JsonOf(tools);
  if (!documents.is_none()) chat.documents = JsonOf(documents);
  if (!variables.is_none()) chat.variables = JsonOf(variables);
  chat.add_generation_prompt = add_generation_prompt;
  chat.continue_final_message = continue_final_message;
  return chat;
}

// Calls `answer` with a sink that hands pieces to Python.
template <class Answer>
Reply Answered(Talk& talk, const Sink& sink, Answer answer) {
  const OneUser use = talk.Use();
  Callbacks& callbacks = talk.shared->callbacks;
  PieceSink pieces;
  if (sink) {
    pieces = PieceSink([&](std::string_view piece) {
      return callbacks.Run([&] {
        const nb::object wanted = (*sink)(piece);
        return wanted.is_none() || nb::cast<bool>(nb::bool_(wanted));
      });
    });
  }
  auto reply = [&] {
    nb::gil_scoped_release release;
    return answer(pieces);
  }();
  return callbacks.Take(std::move(reply));
}

std::shared_ptr<Talk> Begin(std::shared_ptr<LanguageModel> model, std::string system, nb::object variables,
                            std::optional<SamplerSettings> sampler, std::optional<uint64_t> seed,
                            std::optional<size_t> max_tokens, bool shows_thoughts, bool recomputes,
                            std::optional<RuntimeConfig> runtime, std::shared_ptr<Adapter> adapter,
                            std::optional<uint32_t> threads) {
  ConversationOptions options;
  options.system = std::move(system);
  if (!variables.is_none()) options.variables = JsonOf(variables);
  options.sampler = std::move(sampler);
  options.seed = seed;
  options.max_tokens = max_tokens;
  options.shows_thoughts = shows_thoughts;
  options.recomputes = recomputes;
  auto shared = std::make_shared<SharedParts>();
  shared->model = model;
  shared->adapter = std::move(adapter);
  SessionParts parts = {
      .model = model->model,
      .pool = Take(CreateBlockPool(model->model.layout(), runtime.value_or(ConversationRuntime(model->info))))};
  parts.adapter = shared->adapter.get();
  if (threads) parts.workspace.threads = *threads;
  parts.is_stopped = [look = shared.get()] { return look->IsStopped(); };
  auto conversation = Take(Conversation::Create(model->text, std::move(parts), std::move(options)));
  return std::make_shared<Talk>(std::move(shared), std::move(conversation));
}

void BindTemplates(nb::module_& m) {
  nb::borrow<nb::class_<LanguageModel>>(m.attr("LanguageModel"))
      .def(
          "encode_chat",
          [](const LanguageModel& self, nb::list messages, nb::object tools, nb::object documents, nb::object variables,
             bool add_generation_prompt, bool continue_final_message) {
            const Chat chat =
                ChatOf(messages, tools, documents, variables, add_generation_prompt, continue_final_message);
            return Take(EncodeChat(self.text.tokenizer, self.text.chat_template, chat));
          },
          "messages"_a, nb::kw_only(), "tools"_a = nb::none(), "documents"_a = nb::none(), "variables"_a = nb::none(),
          "add_generation_prompt"_a = true, "continue_final_message"_a = false, Doc("EncodeChat"))
      .def(
          "render_chat",
          [](const LanguageModel& self, nb::list messages, nb::object tools, nb::object documents, nb::object variables,
             bool add_generation_prompt, bool continue_final_message) {
            const Chat chat =
                ChatOf(messages, tools, documents, variables, add_generation_prompt, continue_final_message);
            return Take(RenderChat(self.text.tokenizer, self.text.chat_template, chat)).text();
          },
          "messages"_a, nb::kw_only(), "tools"_a = nb::none(), "documents"_a = nb::none(), "variables"_a = nb::none(),
          "add_generation_prompt"_a = true, "continue_final_message"_a = false, Doc("RenderChat"));
}

void BindReply(nb::module_& m) {
  nb::enum_<AnswerEnd>(m, "AnswerEnd", Doc("AnswerEnd"))
      .value("MODEL", AnswerEnd::kModel, Doc("AnswerEnd::kModel"))
      .value("TOKEN_LIMIT", AnswerEnd::kTokenLimit, Doc("AnswerEnd::kTokenLimit"))
      .value("CONTEXT_FULL", AnswerEnd::kContextFull, Doc("AnswerEnd::kContextFull"))
      .value("STOPPED", AnswerEnd::kStopped, Doc("AnswerEnd::kStopped"));
  nb::class_<Reply>(m, "Reply", Doc("Reply"))
      .def_ro("text", &Reply::text, Doc("Reply::text"))
      .def_ro("thought", &Reply::thought, Doc("Reply::thought"))
      .def_ro("tokens", &Reply::tokens, Doc("Reply::tokens"))
      .def_ro("end", &Reply::end, Doc("Reply::end"))
      .def_ro("left_out", &Reply::left_out, Doc("Reply::left_out"))
      .def("__str__", [](const Reply& self) { return self.text; });
}

}  // namespace

void BindChat(nb::module_& m) {
  BindTemplates(m);
  BindReply(m);
  nb::class_<Talk>(m, "Conversation", "A chat, answer by answer. It and its forks are used by one thread at a time.")
      .def(nb::new_(&Begin), "model"_a, nb::kw_only(), "system"_a = "", "variables"_a = nb::none(),
           "sampler"_a = nb::none(), "seed"_a = nb::none(), "max_tokens"_a = nb::none(), "shows_thoughts"_a = false,
           "recomputes"_a = false, "runtime"_a = nb::none(), "adapter"_a = nb::none(), "threads"_a = nb::none(),
           Doc("Conversation::Create"))
      .def(
          "say",
          [](Talk& self, std::string_view message, const Sink& sink) {
            return Answered(self, sink, [&](const PieceSink& pieces) { return self.value.Say(message, pieces); });
          },
          "message"_a, "sink"_a = nb::none(), Doc("Conversation::Say"))
      .def(
          "regenerate",
          [](Talk& self, const Sink& sink) {
            return Answered(self, sink, [&](const PieceSink& pieces) { return self.value.Regenerate(pieces); });
          },
          "sink"_a = nb::none(), Doc("Conversation::Regenerate"))
      .def(
          "take_back", [](Talk& self, size_t turns) { self.Use(), Take(self.value.TakeBack(turns)); }, "turns"_a = 1,
          Doc("Conversation::TakeBack"))
      .def(
          "keep_turns", [](Talk& self, size_t turns) { self.Use(), Take(self.value.KeepTurns(turns)); }, "turns"_a,
          Doc("Conversation::KeepTurns"))
      .def(
          "begin", [](Talk& self, std::string system) { self.Use(), Take(self.value.Begin(std::move(system))); },
          "system"_a = "", Doc("Conversation::Begin"))
      .def(
          "fork",
          [](Talk& self) {
            const OneUser use = self.Use();
            return std::make_shared<Talk>(self.shared, Take(self.value.Fork()));
          },
          Doc("Conversation::Fork"))
      .def(
          "set_sampler",
          [](Talk& self, const SamplerSettings& sampler) { self.Use(), Take(self.value.SetSampler(sampler)); },
          "sampler"_a, Doc("Conversation::SetSampler"))
      .def(
          "set_max_tokens",
          [](Talk& self, std::optional<size_t> tokens) { self.Use(), self.value.SetMaxTokens(tokens); },
          "tokens"_a = nb::none(), Doc("Conversation::SetMaxTokens"))
      .def_prop_ro(
          "turns", [](Talk& self) { return self.Use(), self.value.turns(); }, Doc("Conversation::turns"))
      .def_prop_ro(
          "tokens", [](Talk& self) { return self.Use(), self.value.session().ids(); }, Doc("TokenSession::ids"))
      .def_prop_ro(
          "messages",
          [](Talk& self) {
            const OneUser use = self.Use();
            nb::list messages;
            for (const Message& message : self.value.messages()) {
              nb::dict one;
              one["role"] = message.role == Role::kSystem ? "system"
                            : message.role == Role::kUser ? "user"
                                                          : "assistant";
              one["content"] = message.content;
              if (!message.thought.empty()) one["reasoning_content"] = message.thought;
              messages.append(one);
            }
            return messages;
          },
          Doc("Conversation::messages"))
      .def_prop_ro(
          "sampler", [](Talk& self) { return self.Use(), self.value.sampler(); }, nb::rv_policy::copy,
          Doc("Conversation::sampler"));
}

}  // namespace skald::python
