// SPDX-License-Identifier: Apache-2.0

#include "server/api/ollama/form.h"

#include <chrono>
#include <utility>

#include "server/api/answers/time_text.h"
#include "server/api/llama_cpp/sampling.h"
#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

class OllamaDialect final : public Dialect {
 public:
  OllamaDialect(OllamaForm form, std::vector<std::string> ignored)
      : Dialect(std::move(ignored)), form_(std::move(form)) {}

  const char* StreamType() const override { return "application/x-ndjson"; }

  std::string Add(const ChoiceNews& news) override {
    std::string out;
    Json logprobs = LogprobsOf(news.tokens);
    for (const OutputPart& part : news.parts) {
      // A line has a whole call.
      calls_ += part.kind == OutputPart::Kind::kToolCall;
      if (part.kind == OutputPart::Kind::kToolCall || part.kind == OutputPart::Kind::kArguments) continue;
      Json said = {{"text", ""}};
      if (part.kind == OutputPart::Kind::kText) said["text"] = part.text;
      if (part.kind == OutputPart::Kind::kReasoning) said["thinking"] = part.text;
      if (part.kind == OutputPart::Kind::kCallEnd) {
        said["calls"] = Json::array({CallJson(news.choice.calls[calls_ - 1], calls_ - 1)});
      }
      out += Line(Said(std::move(said), std::exchange(logprobs, Json())));
    }
    if (out.empty() && form_.vocabulary) out += Line(Said({{"text", ""}}, std::move(logprobs)));
    return out;
  }

  std::string EndChoice(uint32_t, const Choice&) override { return {}; }

  std::string End(const std::vector<Choice>& choices) override {
    return Line(Ended(Said({{"text", ""}}, Json()), choices));
  }

  Json Whole(const std::vector<Choice>& choices) override {
    const Choice& choice = choices[0];
    Json said = {{"text", choice.text}};
    if (!choice.reasoning.empty()) said["thinking"] = choice.reasoning;
    const std::vector<Choice::ToolCall> calls = choice.WholeCalls();
    for (size_t i = 0; i < calls.size(); ++i) said["calls"].push_back(CallJson(calls[i], i));
    return Ended(Said(std::move(said), LogprobsOf(choice.tokens)), choices);
  }

  Json ErrorJson(const ApiError& error) override { return OllamaErrorJson(error); }
  std::string ErrorEvent(const ApiError& error) override { return Line(ErrorJson(error)); }

 private:
  static std::string Line(const Json& json) { return Dump(json) + "\n"; }

  static Json CallJson(const Choice::ToolCall& call, size_t index) {
    Json arguments = TryParseAnswerJson(call.arguments).value_or(Json());
    if (!arguments.is_object()) arguments = Json::object();
    return {{"id", call.id},
            {"function", {{"index", index}, {"name", call.name}, {"arguments", std::move(arguments)}}}};
  }

  Json LogprobsOf(std::span<const SampledToken> tokens) const {
    return form_.vocabulary ? LogprobsJson(*form_.vocabulary, tokens) : Json();
  }

  // `said` has a text, and perhaps a thought and calls.
  Json Said(Json said, Json logprobs) const {
    Json json = {{"model", form_.model}, {"created_at", TimeText(std::chrono::system_clock::now())}};
    Json message = {{"role", "assistant"}};
    Json& place = form_.is_chat ? message : json;
    place[form_.is_chat ? "content" : "response"] = std::move(said["text"]);
    if (said.contains("thinking")) place["thinking"] = std::move(said["thinking"]);
    if (said.contains("calls")) place["tool_calls"] = std::move(said["calls"]);
    if (form_.is_chat) json["message"] = std::move(message);
    if (!logprobs.is_null()) json["logprobs"] = std::move(logprobs);
    json["done"] = false;
    return json;
  }

  Json Ended(Json json, const std::vector<Choice>& choices) const {
    json["done"] = true;
    json["done_reason"] = FinishReasonOf(choices[0]);
    json.update(DurationsJson(UsageOf(choices)));
    json["skald"] = OwnJson(choices);
    return json;
  }

  const OllamaForm form_;
  size_t calls_ = 0;  // that have begun
};

// A text or number of seconds; nothing, or less than nothing, is long.
bool IsZeroDuration(const Json* duration) {
  if (duration == nullptr) return false;
  if (duration->is_number()) return duration->get<double>() == 0.0;
  if (!duration->is_string()) return false;
  const std::string& text = duration->get_ref<const std::string&>();
  return !text.empty() && text.find_first_of("123456789-") == text.npos;
}

void ReadOptions(JsonReader& reader, const Call& call, ChatCall& chat) {
  const Json none = Json::object();
  auto given = reader.Object("options");
  JsonReader options = given ? *given : JsonReader(none);
  chat.least_tokens = ReadLlamaSampling(options, call, chat.request, "num_predict");
  options.Finish();
}

void ReadFormat(JsonReader& reader, ChatCall& chat) {
  const Json* const format = reader.Any("format");
  if (format == nullptr || *format == "") return;
  if (*format != "json" && !format->is_object()) reader.Fail("format", "'json' or a JSON Schema");
  chat.form.schema = format->is_object() ? *format : Json();
  chat.form.field = "format";
}

void ReadThink(JsonReader& reader, ChatCall& chat) {
  const Json* const think = reader.Any("think");
  if (think == nullptr) return;
  if (think->is_string()) chat.variables["reasoning_effort"] = *reader.OneOf("think", {"low", "medium", "high"});
  chat.variables["enable_thinking"] = think->is_string() || *reader.Bool("think");
}

}  // namespace

constexpr std::string_view kTag = ":latest";

std::string TaggedName(std::string_view name) {
  return std::string(name) + std::string(name.find(':') == name.npos ? kTag : "");
}

const NamedModel& ReadOllamaModel(JsonReader& reader, const Call& call) {
  call.StopIfAbandoned();
  const auto older = reader.String("name");
  std::string name = reader.String("model").value_or(older.value_or(""));
  if (name.empty()) reader.Fail("model", "the name of a model");
  if (!call.service->models().Has(name) && name.ends_with(kTag)) name.resize(name.size() - kTag.size());
  return ModelNamed(name, call);
}

OllamaRequest ReadOllamaRequest(JsonReader& reader, const Call& call) {
  OllamaRequest request;
  request.chat.model = ReadOllamaModel(reader, call);
  request.form.model = TaggedName(request.chat.model.name);
  ReadOptions(reader, call, request.chat);
  ReadFormat(reader, request.chat);
  ReadThink(reader, request.chat);
  request.chat.is_stream = reader.Bool("stream").value_or(true);
  const auto top = reader.Integer("top_logprobs", 0, 20);
  if (reader.Bool("logprobs").value_or(false)) {
    request.form.vocabulary = Take(call.model().NamedVocabulary());
    request.chat.request.sampler.num_logprobs = static_cast<size_t>(top.value_or(0));
  }
  request.unloads = IsZeroDuration(reader.Any("keep_alive"));
  return request;
}

std::unique_ptr<Dialect> MakeOllamaDialect(OllamaForm form, const RequestNotes& notes) {
  return std::make_unique<OllamaDialect>(std::move(form), notes.ignored());
}

Json LoadedJson(const Call& call, const OllamaRequest& request) {
  if (request.unloads) {
    call.NeedAdmin();
    (void)call.service->models().Unload(request.chat.model.name);  // one that stays does so
  }
  Json json = {{"model", request.form.model}, {"created_at", TimeText(std::chrono::system_clock::now())}};
  if (request.form.is_chat) json["message"] = {{"role", "assistant"}, {"content", ""}};
  if (!request.form.is_chat) json["response"] = "";
  json["done"] = true;
  json["done_reason"] = request.unloads ? "unload" : "load";
  return json;
}

Json DurationsJson(const AnswerUsage& usage) {
  const auto nanoseconds = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
  return {{"total_duration", nanoseconds(usage.seconds)},
          {"load_duration", 0},
          {"prompt_eval_count", usage.prompt_tokens},
          {"prompt_eval_duration", nanoseconds(usage.first_token_seconds)},
          {"eval_count", usage.completion_tokens},
          {"eval_duration", nanoseconds(usage.seconds - usage.first_token_seconds)}};
}

}  // namespace skald::serve
