// SPDX-License-Identifier: Apache-2.0

#include "server/api/openai/responses/dialect.h"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"

namespace skald::serve {
namespace {

class ResponseDialect final : public Dialect {
 public:
  explicit ResponseDialect(std::shared_ptr<ResponseWriter> writer)
      : Dialect(writer->form().ignored), writer_(std::move(writer)) {}

  std::string Begin(uint64_t) override {
    const Json response = writer_->Begin();
    std::string out = Event("response.created", {{"response", response}});
    out += Event("response.in_progress", {{"response", response}});
    return out;
  }

  std::string Add(const ChoiceNews& news) override {
    std::string out;
    std::span<const SampledToken> tokens = news.tokens;  // belong to the first part of text
    for (const OutputPart& part : news.parts) {
      if (part.kind == OutputPart::Kind::kToolCall) {
        out += EndText();
        out += BeginCall(news.choice.calls[calls_]);
      } else if (part.kind == OutputPart::Kind::kArguments) {
        call_->arguments += part.text;
        out += Event("response.function_call_arguments.delta", PlacedCall({{"delta", part.text}}));
      } else if (part.kind == OutputPart::Kind::kCallEnd) {
        out += EndCall("completed");
      } else {
        out += AddText(part, tokens);
      }
    }
    return out;
  }

  std::string EndChoice(uint32_t, const Choice& choice) override {
    std::string out = EndCall("incomplete");
    if (!text_ && writer_->size() == 0) out += BeginText(/*is_text=*/true);
    return out + EndText(ResponseWriter::StatusOf(choice));
  }

  std::string End(const std::vector<Choice>& choices) override {
    const Json response = writer_->End(choices);
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

  Json Whole(const std::vector<Choice>& choices) override { return writer_->End(choices); }

 private:
  // The item of text or thought that is being written.
  struct OpenText {
    bool is_text;
    std::string text = {};
    Json logprobs = Json::array();
  };

  std::string Event(const char* type, Json fields) {
    Json event = {{"type", type}, {"sequence_number", sequence_++}};
    event.update(fields);
    return ServerSentEvent(event, type);
  }

  Json TextItem(const char* status) const {
    return writer_->TextItem(text_->is_text, text_->text, text_->logprobs, status);
  }
  Json CallItem(const char* status) const { return writer_->CallItem(*call_, calls_ - 1, status); }

  // Where an event of the text belongs.
  Json Placed(Json fields) const {
    Json placed = {
        {"item_id", writer_->TextId(text_->is_text)}, {"output_index", writer_->size()}, {"content_index", 0}};
    placed.update(fields);
    return placed;
  }
  // The same of the call.
  Json PlacedCall(Json fields) const {
    Json placed = {{"item_id", writer_->CallId(calls_ - 1)}, {"output_index", writer_->size()}};
    placed.update(fields);
    return placed;
  }

  std::string AddText(const OutputPart& part, std::span<const SampledToken>& tokens) {
    std::string out = EndCall("incomplete");
    const bool is_text = part.kind == OutputPart::Kind::kText;
    if (!text_ || text_->is_text != is_text) {
      out += EndText();
      out += BeginText(is_text);
    }
    text_->text += part.text;
    Json logprobs = Json::array();
    if (const auto& vocabulary = writer_->form().vocabulary; is_text && vocabulary) {
      logprobs = LogprobsJson(*vocabulary, std::exchange(tokens, {}));
    }
    for (const Json& one : logprobs) text_->logprobs.push_back(one);
    return out + Event(is_text ? "response.output_text.delta" : "response.reasoning_text.delta",
                       Placed({{"delta", part.text}, {"logprobs", std::move(logprobs)}}));
  }

  std::string BeginText(bool is_text) {
    text_ = OpenText{is_text};
    std::string out =
        Event("response.output_item.added", {{"output_index", writer_->size()}, {"item", TextItem("in_progress")}});
    const Json part = ResponseWriter::Part(is_text, "", Json::array());
    return out + Event("response.content_part.added", Placed({{"part", part}}));
  }

  std::string EndText(const char* status = "completed") {
    if (!text_) return {};
    Json item = TextItem(status);
    std::string out = Event(text_->is_text ? "response.output_text.done" : "response.reasoning_text.done",
                            Placed({{"text", text_->text}, {"logprobs", text_->logprobs}}));
    out += Event("response.content_part.done", Placed({{"part", item["content"][0]}}));
    out += Event("response.output_item.done", {{"output_index", writer_->size()}, {"item", item}});
    writer_->Add(std::move(item));
    text_.reset();
    return out;
  }

  std::string BeginCall(const Choice::ToolCall& call) {
    std::string out = EndCall("incomplete");
    call_ = {call.id, call.name, {}};
    ++calls_;
    return out +
           Event("response.output_item.added", {{"output_index", writer_->size()}, {"item", CallItem("in_progress")}});
  }

  std::string EndCall(const char* status) {
    if (!call_) return {};
    Json item = CallItem(status);
    std::string out = Event("response.function_call_arguments.done",
                            PlacedCall({{"name", call_->name}, {"arguments", call_->arguments}}));
    out += Event("response.output_item.done", {{"output_index", writer_->size()}, {"item", item}});
    writer_->Add(std::move(item));
    call_.reset();
    return out;
  }

  const std::shared_ptr<ResponseWriter> writer_;
  std::optional<OpenText> text_;
  std::optional<Choice::ToolCall> call_;  // that is being written
  size_t calls_ = 0;                      // that have begun
  uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Dialect> MakeResponseDialect(std::shared_ptr<ResponseWriter> writer) {
  return std::make_unique<ResponseDialect>(std::move(writer));
}

}  // namespace skald::serve
