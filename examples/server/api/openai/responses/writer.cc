// SPDX-License-Identifier: Apache-2.0

#include "server/api/openai/responses/writer.h"

#include "server/api/openai/logprobs.h"

namespace skald::serve {
namespace {

bool IsUnfinished(const Choice& choice) { return !choice.finish || choice.finish == FinishReason::kCancelled; }
bool IsFailure(const Choice& choice) {
  return choice.finish == FinishReason::kError || choice.finish == FinishReason::kDeadline;
}

Json ResponseUsageJson(const AnswerUsage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

}  // namespace

std::string ItemIdOf(const char* kind, const std::string& response, size_t place) {
  const size_t prefix = response.find('_');
  return kind + response.substr(prefix == response.npos ? 0 : prefix) + "_" + std::to_string(place);
}

Json ResponseWriter::Part(bool is_text, const std::string& text, const Json& logprobs) {
  if (!is_text) return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", logprobs}};
}

Json ResponseWriter::TextItem(bool is_text, const std::string& text, const Json& logprobs, const char* status) const {
  Json item = is_text ? Json{{"id", TextId(true)}, {"type", "message"}, {"status", status}, {"role", "assistant"}}
                      : Json{{"id", TextId(false)}, {"type", "reasoning"}, {"summary", Json::array()}};
  item["content"] = Json::array();
  if (std::string_view(status) != "in_progress") item["content"].push_back(Part(is_text, text, logprobs));
  return item;
}

Json ResponseWriter::CallItem(const Choice::ToolCall& call, size_t number, const char* status) const {
  Json item = {{"id", CallId(number)}, {"type", "function_call"}, {"status", status},
               {"call_id", call.id},   {"name", call.name},       {"arguments", call.arguments}};
  if (const auto found = form_.places.find(call.name); found != form_.places.end()) {
    item["name"] = found->second.name;
    item["namespace"] = found->second.space;
  }
  return item;
}

const char* ResponseWriter::StatusOf(const Choice& choice) {
  return choice.finish == FinishReason::kMaxTokens || IsUnfinished(choice) || IsFailure(choice) ? "incomplete"
                                                                                                : "completed";
}

Json ResponseWriter::Response(const char* status) const {
  Json response = {{"id", form_.id},         {"object", "response"}, {"created_at", form_.created},
                   {"status", status},       {"error", nullptr},     {"incomplete_details", nullptr},
                   {"model", form_.model},   {"output", items_},     {"usage", nullptr},
                   {"completed_at", nullptr}};
  response.update(form_.echo);
  return response;
}

void ResponseWriter::AddItemsOf(const Choice& choice) {
  const std::vector<Choice::ToolCall> calls = choice.WholeCalls();
  const bool has_text = !choice.text.empty() || (calls.empty() && choice.reasoning.empty());
  const char* const last = StatusOf(choice);
  if (!choice.reasoning.empty()) {
    Add(TextItem(false, choice.reasoning, Json::array(), has_text || !calls.empty() ? "completed" : last));
  }
  const Json logprobs = form_.vocabulary ? LogprobsJson(*form_.vocabulary, choice.tokens) : Json::array();
  if (has_text) Add(TextItem(true, choice.text, logprobs, calls.empty() ? last : "completed"));
  for (size_t i = 0; i < calls.size(); ++i) Add(CallItem(calls[i], i, "completed"));
}

Json ResponseWriter::End(const std::vector<Choice>& choices) {
  const Choice& choice = choices[0];
  const bool is_unfinished = IsUnfinished(choice), is_failure = IsFailure(choice);
  if (is_unfinished || is_failure) items_.clear();
  if (items_.empty()) AddItemsOf(choice);
  Json response = Response(is_unfinished ? "cancelled" : is_failure ? "failed" : StatusOf(choice));
  response["usage"] = ResponseUsageJson(UsageOf(choices));
  response["skald"] = OwnFacts(choices, form_.ignored);
  if (is_failure) {
    const std::string why = choice.error ? choice.error->message : "the answer was not there in time";
    response["error"] = {{"code", "server_error"}, {"message", why}};
  } else if (choice.finish == FinishReason::kMaxTokens) {
    response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  } else if (!is_unfinished) {
    if (!completed_) completed_ = UnixNow();
    response["completed_at"] = *completed_;
  }
  return response;
}

}  // namespace skald::serve
