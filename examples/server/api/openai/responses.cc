// SPDX-License-Identifier: Apache-2.0
//
// Responses: platform.openai.com/docs/api-reference/responses. Items become messages and back; a response that is
// stored can be gone on with by its id.

#include <optional>
#include <string>
#include <utility>

#include "server/api/answers/chat_call.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
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
};

class ResponseDialect final : public Dialect {
 public:
  explicit ResponseDialect(ResponseForm form) : form_(std::move(form)) {}

  std::string Begin(uint64_t) override {
    const Json response = Response("in_progress", Json::array());
    std::string out = Event("response.created", {{"response", response}});
    out += Event("response.in_progress", {{"response", response}});
    return out;
  }

  std::string Add(const ChoiceNews& news) override {
    std::string out;
    for (const OutputPart& part : news.parts) {
      if (part.kind == OutputPart::Kind::kToolCall) {
        out += EndItem();
        out += CallEvents(news.choice.calls[calls_++]);
      } else {
        const bool is_text = part.kind == OutputPart::Kind::kText;
        if (!open_ || open_is_text_ != is_text) {
          out += EndItem();
          out += BeginItem(is_text);
        }
        open_text_ += part.text;
        out += Event(is_text ? "response.output_text.delta" : "response.reasoning_text.delta",
                     Placed({{"delta", part.text}, {"logprobs", Json::array()}}));
      }
    }
    return out;
  }

  std::string EndChoice(uint32_t, const Choice& choice) override {
    std::string out;
    if (!open_ && items_.empty()) out = BeginItem(/*is_text=*/true);
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
    const bool has_text = !choice.text.empty() || (choice.calls.empty() && choice.reasoning.empty());
    const char* const last = StatusOf(choice);
    if (!choice.reasoning.empty()) AddItem(TextItem(false, choice.reasoning, has_text ? "completed" : last));
    if (has_text) AddItem(TextItem(true, choice.text, choice.calls.empty() ? last : "completed"));
    for (const Choice::ToolCall& call : choice.calls) AddItem(CallItem(call, "completed"));
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

  static void Finish(const std::vector<Choice>& choices, Json& response) {
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

  Json TextItem(bool is_text, const std::string& text, const char* status) {
    if (item_id_.empty()) item_id_ = NewId(is_text ? "msg" : "rs");
    Json item = is_text ? Json{{"id", item_id_}, {"type", "message"}, {"status", status}, {"role", "assistant"}}
                        : Json{{"id", item_id_}, {"type", "reasoning"}, {"summary", Json::array()}};
    item["content"] = Json::array();
    if (std::string_view(status) != "in_progress") item["content"].push_back(Part(is_text, text));
    return item;
  }
  static Json Part(bool is_text, const std::string& text) {
    if (!is_text) return {{"type", "reasoning_text"}, {"text", text}};
    return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }
  static Json CallItem(const Choice::ToolCall& call, const char* status) {
    return {{"id", "fc_" + call.id.substr(5)},
            {"type", "function_call"},
            {"status", status},
            {"call_id", call.id},
            {"name", call.name},
            {"arguments", call.arguments}};
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
                            Placed({{"text", text}, {"logprobs", Json::array()}}));
    out += Event("response.content_part.done", Placed({{"part", Part(open_is_text_, text)}}));
    out += Event("response.output_item.done", {{"output_index", items_.size()}, {"item", item}});
    AddItem(item);
    return out;
  }

  std::string CallEvents(const Choice::ToolCall& call) {
    Json begun = CallItem(call, "in_progress");
    begun["arguments"] = "";
    const Json item = CallItem(call, "completed");
    const size_t place = items_.size();
    const Json where = {{"item_id", item["id"]}, {"output_index", place}};
    Json delta = where, done = where;
    delta["delta"] = done["arguments"] = call.arguments;
    std::string out = Event("response.output_item.added", {{"output_index", place}, {"item", begun}});
    out += Event("response.function_call_arguments.delta", delta);
    out += Event("response.function_call_arguments.done", done);
    out += Event("response.output_item.done", {{"output_index", place}, {"item", item}});
    AddItem(item);
    return out;
  }

  const ResponseForm form_;
  Json items_ = Json::array();  // that are whole
  bool open_ = false, open_is_text_ = false;
  std::string open_text_, item_id_;  // of the item that is being written
  size_t calls_ = 0;
  uint64_t sequence_ = 0;
};

// One item of the input as a message; calls of tools join the assistant's message before them.
void ReadItem(const Json& json, const std::string& path, Json& messages) {
  JsonReader item(json, path);
  const std::string type = item.String("type").value_or("message");
  item.Ignore({"id", "status"});
  if (type == "function_call") {
    Json call = {
        {"type", "function"},
        {"function", {{"name", item.NeedString("name")}, {"arguments", item.String("arguments").value_or("{}")}}},
        {"id", item.NeedString("call_id")}};
    if (messages.empty() || messages.back()["role"] != "assistant") {
      messages.push_back({{"role", "assistant"}, {"content", ""}});
    }
    messages.back()["tool_calls"].push_back(std::move(call));
  } else if (type == "function_call_output") {
    const Json* const output = item.Any("output");
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", item.NeedString("call_id")},
                        {"content", output == nullptr ? "" : ReadContent(*output, item.PathOf("output"))}});
  } else if (type == "reasoning") {
    return;  // what was thought before is not read again
  } else if (type == "message") {
    const auto role = item.OneOf("role", {"system", "developer", "user", "assistant"});
    const Json* const content = item.Any("content");
    if (!role || content == nullptr) item.Fail(role ? "content" : "role", "that of a message");
    messages.push_back({{"role", *role}, {"content", ReadContent(*content, item.PathOf("content"))}});
  } else {
    item.Fail("type", "'message', 'function_call', 'function_call_output' or 'reasoning'");
  }
  item.Finish();
}

Json ReadInput(JsonReader& reader) {
  Json messages = Json::array();
  const Json* const input = reader.Any("input");
  if (input == nullptr) return messages;
  if (input->is_string()) {
    messages.push_back({{"role", "user"}, {"content", *input}});
  } else if (input->is_array()) {
    for (size_t i = 0; i < input->size(); ++i) ReadItem((*input)[i], "input[" + std::to_string(i) + "]", messages);
  } else {
    reader.Fail("input", "a text, or a list of items");
  }
  return messages.empty() ? messages : ReadMessages(messages, "input");
}

void RefuseFields(JsonReader& reader) {
  reader.Ignore({"user", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
                 "stream_options"});
  reader.Refuse("include", "a response has all that there is",
                {Json::array(), Json::array({"reasoning.encrypted_content"})});
  reader.Refuse("truncation", "nothing of an input is left out here", {"disabled"});
  reader.Refuse("background", "send it as a stream", {false});
  reader.Refuse("conversation", "use previous_response_id");
  reader.Refuse("prompt", "templates of prompts are not kept here");
  reader.Refuse("max_tool_calls", "tools are called by the client");
  reader.Refuse("top_logprobs", "use chat completions", {0});
}

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
               {"top_logprobs", 0},
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

}  // namespace

Answer Responses(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  ChatCall chat;
  chat.model = ReadModel(reader, call);
  chat.path = "input";
  ReadSampling(reader, call, chat.request);
  if (chat.request.samples != 1) reader.Fail("n", "1: a response is one answer");
  SetMostTokens(reader.Integer("max_output_tokens", 1, kMostRequestTokens), call, chat.request);
  ResponseForm form = {NewId("resp"), chat.model.name, UnixNow()};
  const auto previous = reader.String("previous_response_id");
  Json input = ReadInput(reader);
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
  chat.tools = ReadTools(reader, kResponseTools);
  if (auto text = reader.Object("text")) {
    ReadResponseFormat(*text, "format", chat);
    text->Ignore({"verbosity"});
    text->Finish();
  }
  if (auto reasoning = reader.Object("reasoning")) {
    if (auto effort = reasoning->String("effort")) chat.variables["reasoning_effort"] = *effort;
    reasoning->Ignore({"summary", "generate_summary"});
    reasoning->Finish();
  }
  chat.is_stream = reader.Bool("stream").value_or(false);
  const bool is_stored = reader.Bool("store").value_or(true);
  RefuseFields(reader);
  reader.Finish();
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
