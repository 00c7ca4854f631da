// SPDX-License-Identifier: Apache-2.0
//
// Responses: platform.openai.com/docs/api-reference/responses. Items become messages and back; a response that is
// stored can be gone on with by its id.

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/chat_call.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"
#include "server/api/openai/response_input.h"
#include "server/api/request/messages.h"
#include "server/api/request/sampling.h"
#include "server/api/request/tool_reading.h"

namespace skald::serve {
namespace {

// The parts of a request that its response repeats, and the response's own facts.
struct ResponseForm {
  std::string id, model;
  int64_t created = 0;
  Json echo = Json::object();
  std::map<std::string, ToolPlace> places = {};                 // of tools in namespaces, by the names in calls
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no log-probabilities
  std::vector<std::string> ignored = {};                        // fields of the request
};

class ResponseDialect final : public Dialect {
 public:
  explicit ResponseDialect(ResponseForm form) : Dialect(form.ignored), form_(std::move(form)) {}

  std::string Begin(uint64_t) override {
    const Json response = Response("in_progress", Json::array());
    std::string out = Event("response.created", {{"response", response}});
    out += Event("response.in_progress", {{"response", response}});
    return out;
  }

  std::string Add(const ChoiceNews& news) override {
    std::string out;
    std::span<const SampledToken> tokens = news.tokens;  // belong to the first part of text
    for (const OutputPart& part : news.parts) {
      if (part.kind == OutputPart::Kind::kToolCall) {
        out += EndItem();
        out += BeginCall(news.choice.calls[calls_], calls_);
        ++calls_;
      } else if (part.kind == OutputPart::Kind::kArguments) {
        call_->arguments += part.text;
        out += Event("response.function_call_arguments.delta", PlacedCall({{"delta", part.text}}));
      } else if (part.kind == OutputPart::Kind::kCallEnd) {
        out += EndCall("completed");
      } else {
        out += EndCall("incomplete");
        const bool is_text = part.kind == OutputPart::Kind::kText;
        if (!open_ || open_is_text_ != is_text) {
          out += EndItem();
          out += BeginItem(is_text);
        }
        open_text_ += part.text;
        Json logprobs = Json::array();
        if (is_text && form_.vocabulary) logprobs = LogprobsJson(*form_.vocabulary, std::exchange(tokens, {}));
        for (const Json& one : logprobs) open_logprobs_.push_back(one);
        out += Event(is_text ? "response.output_text.delta" : "response.reasoning_text.delta",
                     Placed({{"delta", part.text}, {"logprobs", std::move(logprobs)}}));
      }
    }
    return out;
  }

  std::string EndChoice(uint32_t, const Choice& choice) override {
    std::string out = EndCall("incomplete");
    if (!open_ && items_.empty()) out += BeginItem(/*is_text=*/true);
    return out + EndItem(StatusOf(choice));
  }

  std::string End(const std::vector<Choice>& choices) override {
    Json response = Response("completed", items_);
    Finish(choices, response);
    const bool is_whole = response["status"] == "completed";
    return Event(is_whole ? "response.completed" : "response.incomplete", {{"response", response}});
  }

  Json ErrorJson(const ApiError& error) override { return OpenAiErrorJson(error); }

  std::string ErrorEvent(const ApiError& error) override {
    Json event = OpenAiErrorJson(error)["error"];
    event["type"] = "error";
    event["error"] = OpenAiErrorJson(error)["error"];
    event["sequence_number"] = sequence_++;
    return ServerSentEvent(event, "error");
  }

  Json Whole(const std::vector<Choice>& choices) override {
    const Choice& choice = choices[0];
    const std::vector<Choice::ToolCall> calls = choice.WholeCalls();
    const bool has_text = !choice.text.empty() || (calls.empty() && choice.reasoning.empty());
    const char* const last = StatusOf(choice);
    if (!choice.reasoning.empty()) AddItem(TextItem(false, choice.reasoning, has_text ? "completed" : last));
    if (form_.vocabulary) open_logprobs_ = LogprobsJson(*form_.vocabulary, choice.tokens);
    if (has_text) AddItem(TextItem(true, choice.text, calls.empty() ? last : "completed"));
    for (const Choice::ToolCall& call : calls) AddItem(CallItem(call, calls_++, "completed"));
    Json response = Response("completed", items_);
    Finish(choices, response);
    return response;
  }

 private:
  Json Response(const char* status, const Json& output) const {
    Json response = {{"id", form_.id},         {"object", "response"}, {"created_at", form_.created},
                     {"status", status},       {"error", nullptr},     {"incomplete_details", nullptr},
                     {"model", form_.model},   {"output", output},     {"usage", nullptr},
                     {"completed_at", nullptr}};
    response.update(form_.echo);
    return response;
  }

  void Finish(const std::vector<Choice>& choices, Json& response) const {
    const AnswerUsage usage = UsageOf(choices);
    response["usage"] = {{"input_tokens", usage.prompt_tokens},
                         {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
                         {"output_tokens", usage.completion_tokens},
                         {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
                         {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
    response["skald"] = OwnJson(choices);
    if (choices[0].finish == FinishReason::kMaxTokens) {
      response["status"] = "incomplete";
      response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    } else {
      response["completed_at"] = UnixNow();
    }
  }

  std::string Event(const char* type, Json fields) {
    Json event = {{"type", type}, {"sequence_number", sequence_++}};
    event.update(fields);
    return ServerSentEvent(event, type);
  }

  // Tells of which response an item is, so that a reference to it is found: KIND_RESPONSE_PLACE.
  std::string ItemId(const char* kind, size_t place) const {
    return kind + form_.id.substr(form_.id.find('_')) + "_" + std::to_string(place);
  }

  Json TextItem(bool is_text, const std::string& text, const char* status) {
    if (item_id_.empty()) item_id_ = ItemId(is_text ? "msg" : "rs", items_.size());
    Json item = is_text ? Json{{"id", item_id_}, {"type", "message"}, {"status", status}, {"role", "assistant"}}
                        : Json{{"id", item_id_}, {"type", "reasoning"}, {"summary", Json::array()}};
    item["content"] = Json::array();
    if (std::string_view(status) != "in_progress") item["content"].push_back(Part(is_text, text));
    return item;
  }
  Json Part(bool is_text, const std::string& text) const {
    if (!is_text) return {{"type", "reasoning_text"}, {"text", text}};
    return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", open_logprobs_}};
  }
  Json CallItem(const Choice::ToolCall& call, size_t place, const char* status) const {
    Json item = {{"id", ItemId("fc", place)}, {"type", "function_call"}, {"status", status},
                 {"call_id", call.id},        {"name", call.name},       {"arguments", call.arguments}};
    if (const auto found = form_.places.find(call.name); found != form_.places.end()) {
      item["name"] = found->second.name;
      item["namespace"] = found->second.space;
    }
    return item;
  }

  // Where an event belongs.
  Json Placed(Json fields) const {
    Json placed = {{"item_id", item_id_}, {"output_index", items_.size()}, {"content_index", 0}};
    placed.update(fields);
    return placed;
  }

  void AddItem(Json item) {
    items_.push_back(std::move(item));
    item_id_.clear();
  }

  std::string BeginItem(bool is_text) {
    open_ = true;
    open_is_text_ = is_text;
    const Json item = TextItem(is_text, "", "in_progress");
    std::string out = Event("response.output_item.added", {{"output_index", items_.size()}, {"item", item}});
    out += Event("response.content_part.added", Placed({{"part", Part(is_text, "")}}));
    return out;
  }

  // Of the last item.
  static const char* StatusOf(const Choice& choice) {
    return choice.finish == FinishReason::kMaxTokens ? "incomplete" : "completed";
  }

  std::string EndItem(const char* status = "completed") {
    if (!std::exchange(open_, false)) return {};
    const std::string text = std::exchange(open_text_, {});
    const Json item = TextItem(open_is_text_, text, status);
    std::string out = Event(open_is_text_ ? "response.output_text.done" : "response.reasoning_text.done",
                            Placed({{"text", text}, {"logprobs", open_logprobs_}}));
    out += Event("response.content_part.done", Placed({{"part", Part(open_is_text_, text)}}));
    out += Event("response.output_item.done", {{"output_index", items_.size()}, {"item", item}});
    open_logprobs_ = Json::array();
    AddItem(item);
    return out;
  }

  std::string BeginCall(const Choice::ToolCall& call, size_t number) {
    call_ = {call.id, call.name, {}};
    call_number_ = number;
    return Event("response.output_item.added",
                 {{"output_index", items_.size()}, {"item", CallItem(*call_, call_number_, "in_progress")}});
  }

  // Where an event of the call belongs.
  Json PlacedCall(Json fields) const {
    Json placed = {{"item_id", CallItem(*call_, call_number_, "")["id"]}, {"output_index", items_.size()}};
    placed.update(fields);
    return placed;
  }

  std::string EndCall(const char* status) {
    if (!call_) return {};
    const Json item = CallItem(*call_, call_number_, status);
    std::string out = Event("response.function_call_arguments.done",
                            PlacedCall({{"name", call_->name}, {"arguments", call_->arguments}}));
    out += Event("response.output_item.done", {{"output_index", items_.size()}, {"item", item}});
    AddItem(item);
    call_.reset();
    return out;
  }

  const ResponseForm form_;
  Json items_ = Json::array();  // that are whole
  bool open_ = false, open_is_text_ = false;
  std::string open_text_, item_id_;       // of the item that is being written
  Json open_logprobs_ = Json::array();    // the same
  std::optional<Choice::ToolCall> call_;  // that is being written
  size_t call_number_ = 0;                // its place among the calls
  size_t calls_ = 0;
  uint64_t sequence_ = 0;
};

// A field of the request as it came, or `otherwise` if it is missing or null.
Json FieldOf(const Json& body, const char* name, Json otherwise = nullptr) {
  const auto found = body.find(name);
  return found == body.end() || found->is_null() ? otherwise : *found;
}

// The request as a response repeats it, with every field that the Open Responses specification (openresponses.org)
// wants there.
Json EchoOf(const Json& body, const SamplerSettings& sampler) {
  Json tools = FieldOf(body, "tools", Json::array());
  for (Json& tool : tools) {
    if (tool.value("type", Json()) != "function") continue;
    for (const char* const name : {"description", "parameters", "strict"}) {
      if (!tool.contains(name)) tool[name] = nullptr;
    }
  }
  Json text = FieldOf(body, "text", Json::object());
  if (text.value("format", Json()).is_null()) text["format"] = {{"type", "text"}};
  Json reasoning = {{"effort", nullptr}, {"summary", nullptr}};
  reasoning.update(FieldOf(body, "reasoning", Json::object()));
  Json echo = {{"tools", std::move(tools)},
               {"tool_choice", FieldOf(body, "tool_choice", "auto")},
               {"parallel_tool_calls", FieldOf(body, "parallel_tool_calls", true)},
               {"text", std::move(text)},
               {"reasoning", std::move(reasoning)},
               {"metadata", FieldOf(body, "metadata", Json::object())},
               {"store", FieldOf(body, "store", true)},
               {"background", false},
               {"truncation", "disabled"},
               {"service_tier", "default"},
               {"top_logprobs", FieldOf(body, "top_logprobs", 0)},
               {"temperature", sampler.temperature},
               {"top_p", sampler.top_p},
               {"presence_penalty", sampler.presence_penalty},
               {"frequency_penalty", sampler.frequency_penalty}};
  for (const char* const name : {"previous_response_id", "instructions", "max_output_tokens", "max_tool_calls", "user",
                                 "safety_identifier", "prompt_cache_key"}) {
    echo[name] = FieldOf(body, name);
  }
  return echo;
}

// Returns the vocabulary if the request includes log-probabilities.
std::shared_ptr<const TokenVocabulary> ReadLogprobs(JsonReader& reader, const Call& call, Request& request) {
  const auto top = reader.Integer("top_logprobs", 0, 20).value_or(0);
  const std::vector<std::string> include = reader.Strings("include");
  if (std::ranges::find(include, "message.output_text.logprobs") == include.end()) {
    if (top > 0) reader.Fail("include", "'message.output_text.logprobs', as top_logprobs asks");
    return nullptr;
  }
  request.sampler.num_logprobs = static_cast<size_t>(top);
  return Take(call.service->model().NamedVocabulary());
}

}  // namespace

Answer Responses(const Call& call) {
  const Json body = ParseJson(call.http.body);
  RequestNotes notes(call.fields);
  JsonReader reader(body, "", "ResponseRequest", &notes);
  ChatCall chat;
  chat.model = ReadModel(reader, call);
  chat.path = "input";
  chat.least_tokens = ReadSampling(reader, call, chat.request);
  if (chat.request.samples != 1) reader.Fail("n", "1: a response is one answer");
  SetMostTokens(ReadMostTokens(reader, {"max_output_tokens"}), call, chat.request);
  ResponseForm form = {NewId("resp"), chat.model.name, UnixNow()};
  RequestTools tools = ReadTools(reader, kResponseTools);
  const auto find = [&](const std::string& id) -> std::optional<Json> {
    auto found = call.service->responses().Find(call.tenant.name, id);
    return found ? std::optional(std::move(found->messages)) : std::nullopt;
  };
  const auto previous = reader.String("previous_response_id");
  Json input = ReadResponseInput(reader, tools, find);
  if (previous) {
    chat.messages = Take(call.service->responses().Find(call.tenant.name, *previous), "previous_response_id").messages;
  }
  for (Json& message : input) chat.messages.push_back(std::move(message));
  const auto instructions = reader.String("instructions");
  // They are of this response alone; those of an earlier one are not among its messages.
  if (instructions) {
    const Json system = {{"role", "system"}, {"content", *instructions}};
    chat.messages.insert(chat.messages.begin(), system);
  }
  chat.tools = std::move(tools.list);
  form.places = std::move(tools.places);
  if (auto text = reader.Object("text")) {
    ReadResponseFormat(*text, "format", chat.form);
    text->Finish();
  }
  if (auto reasoning = reader.Object("reasoning")) {
    if (auto effort = reasoning->String("effort")) chat.variables["reasoning_effort"] = *effort;
    reasoning->Finish();
  }
  form.vocabulary = ReadLogprobs(reader, call, chat.request);
  chat.is_stream = reader.Bool("stream").value_or(false);
  const bool is_stored = reader.Bool("store").value_or(true);
  reader.Finish();
  form.ignored = notes.ignored();
  form.echo = EchoOf(body, chat.request.sampler);
  if (is_stored) {
    chat.on_messages = [service = call.service, tenant = call.tenant.name, id = form.id,
                        with_system = instructions.has_value()](const Json& messages) {
      Conversation conversation;
      conversation.id = id;
      conversation.messages = messages;
      if (with_system) conversation.messages.erase(0);
      (void)service->responses().Add(tenant, std::move(conversation));
    };
  }
  return AnswerChat(call, std::move(chat), std::make_unique<ResponseDialect>(std::move(form)));
}

}  // namespace skald::serve
