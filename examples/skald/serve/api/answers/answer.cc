// SPDX-License-Identifier: Apache-2.0

#include "serve/api/answers/answer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

namespace skald::serve {
namespace {

ApiError ErrorOf(const Choice& choice) {
  if (choice.error) return ApiErrorOf(*choice.error);
  if (choice.finish == FinishReason::kDeadline) return {504, "the answer was not there in time"};
  return {503, "the server is shutting down"};
}

bool HasFailed(const Choice& choice) {
  return !choice.finish || choice.finish == FinishReason::kError || choice.finish == FinishReason::kCancelled ||
         choice.finish == FinishReason::kDeadline;
}

class AnswerExchange final : public Exchange {
 public:
  AnswerExchange(const Call& call, EngineLoop::Ticket ticket, uint32_t samples, uint64_t prompt_tokens,
                 const AnswerReading& reading, bool is_stream, std::unique_ptr<Dialect> dialect, OpenRequest open,
                 std::function<void(const std::vector<Choice>&)> on_end)
      : service_(call.service),
        metrics_(call.metrics),
        ticket_(std::move(ticket)),
        prompt_tokens_(prompt_tokens),
        open_(std::move(open)),
        is_stream_(is_stream),
        dialect_(std::move(dialect)),
        on_end_(std::move(on_end)),
        choices_(samples) {
    for (uint32_t i = 0; i < samples; ++i) {
      parsers_.push_back(MakeOutputParser(reading.format, reading.tools, reading.begins_thinking));
    }
  }

  ~AnswerExchange() override {
    if (!has_ended_) service_->Cancel(ticket_.number);
    TellEnd();
  }

  HttpPiece Next() override {
    try {
      return TakeEvents();
    } catch (const std::exception& error) {
      return Fail({500, error.what()});
    }
  }

 private:
  HttpPiece TakeEvents() {
    HttpPiece piece;
    if (is_stream_ && !std::exchange(has_begun_, true)) {
      piece.head = HttpHead{200, "text/event-stream", {{"X-Accel-Buffering", "no"}}, true};
      piece.body = dialect_->Begin(prompt_tokens_);
    }
    while (auto event = ticket_.inbox->Next(std::chrono::milliseconds(0))) Take(*std::move(event), piece.body);
    if (!ticket_.inbox->is_finished()) return piece;
    has_ended_ = piece.is_last = true;
    TellEnd();
    const auto failed = std::ranges::find_if(choices_, HasFailed);
    if (is_stream_) {
      piece.body += failed == choices_.end() ? dialect_->End(choices_) : dialect_->ErrorEvent(ErrorOf(*failed));
    } else if (failed == choices_.end()) {
      piece.head = HttpHead{};
      piece.body = Dump(dialect_->Whole(choices_));
    } else {
      return Fail(ErrorOf(*failed));
    }
    return piece;
  }

  void Take(Event event, std::string& out) {
    Choice& choice = choices_[event.sample];
    OutputParser& parser = *parsers_[event.sample];
    std::vector<OutputPart> parts = parser.Push(event.text);
    if (event.finish) {
      for (OutputPart& part : parser.Finish()) parts.push_back(std::move(part));
    }
    for (const OutputPart& part : parts) Add(part, choice);
    const auto is_thought = [](const OutputPart& part) { return part.kind == OutputPart::Kind::kReasoning; };
    if (!parts.empty() && std::ranges::all_of(parts, is_thought)) choice.reasoning_tokens += event.tokens.size();
    choice.tokens.insert(choice.tokens.end(), event.tokens.begin(), event.tokens.end());
    choice.prompt_tokens.insert(choice.prompt_tokens.end(), event.prompt_tokens.begin(), event.prompt_tokens.end());
    if (!event.embedding.empty()) choice.embedding = std::move(event.embedding);
    choice.usage = event.usage;
    choice.finish = event.finish;
    choice.error = std::move(event.error);
    if (!is_stream_) return;
    if (!parts.empty() || !event.tokens.empty()) {
      out += dialect_->Add({event.sample, choice, std::move(parts), std::move(event.tokens)});
    }
    if (choice.finish && !HasFailed(choice)) out += dialect_->EndChoice(event.sample, choice);
  }

  static void Add(const OutputPart& part, Choice& choice) {
    if (part.kind == OutputPart::Kind::kText) choice.text += part.text;
    if (part.kind == OutputPart::Kind::kReasoning) choice.reasoning += part.text;
    if (part.kind == OutputPart::Kind::kToolCall) choice.calls.push_back({NewId("call"), part.name, part.text});
  }

  HttpPiece Fail(const ApiError& error) {
    has_ended_ = true;
    if (is_stream_ && has_begun_) return {{}, dialect_->ErrorEvent(error), true};
    return {HttpHead{error.status}, Dump(dialect_->ErrorJson(error)), true};
  }

  void TellEnd() {
    if (std::exchange(has_told_, true)) return;
    const AnswerUsage usage = UsageOf(choices_);
    if (usage.completion_tokens > 0) {
      const double between = choices_[0].usage.generated_tokens > 1 ? (usage.seconds - usage.first_token_seconds) /
                                                                          (choices_[0].usage.generated_tokens - 1)
                                                                    : 0.0;
      metrics_.CountAnswer(usage.first_token_seconds, between, usage.seconds);
    }
    if (!on_end_) return;
    try {
      on_end_(choices_);
    } catch (...) {  // no memory to remember it with: it was said nevertheless
    }
  }

  const std::shared_ptr<Service> service_;
  Metrics& metrics_;
  const EngineLoop::Ticket ticket_;
  const uint64_t prompt_tokens_;
  const OpenRequest open_;
  const bool is_stream_;
  const std::unique_ptr<Dialect> dialect_;
  const std::function<void(const std::vector<Choice>&)> on_end_;
  std::vector<std::unique_ptr<OutputParser>> parsers_;
  std::vector<Choice> choices_;
  bool has_begun_ = false, has_ended_ = false, has_told_ = false;
};

}  // namespace

std::unique_ptr<Exchange> BeginAnswer(const Call& call, Request request, const AnswerReading& reading, bool is_stream,
                                      std::unique_ptr<Dialect> dialect,
                                      std::function<void(const std::vector<Choice>&)> on_end) {
  OpenRequest open(call.tenant);
  if (call.tenant.open_requests > call.tenant.max_requests) {
    throw ApiError{429,
                   "this key may have " + std::to_string(call.tenant.max_requests) + " answers at a time",
                   {},
                   "rate_limit_exceeded"};
  }
  request.tenant = call.tenant.name;
  request.digest_logits = true;
  request.special_text = reading.format.needs_special_text();
  const uint32_t samples = request.samples;
  const uint64_t prompt_tokens = request.prompt.size();
  // Clients that know nothing of the context ask for more than it has: an answer ends where it is full.
  if (request.max_tokens && prompt_tokens + *request.max_tokens > call.service->context()) request.max_tokens.reset();
  auto ticket = serve::Take(call.service->Submit(std::move(request), call.wake));
  return std::make_unique<AnswerExchange>(call, std::move(ticket), samples, prompt_tokens, reading, is_stream,
                                          std::move(dialect), std::move(open), std::move(on_end));
}

std::string ServerSentEvent(const Json& data, std::string_view name) {
  std::string event;
  if (!name.empty()) event = "event: " + std::string(name) + "\n";
  return event + "data: " + Dump(data) + "\n\n";
}

AnswerUsage UsageOf(const std::vector<Choice>& choices) {
  AnswerUsage sum;
  if (choices.empty()) return sum;
  const Usage& first = choices[0].usage;
  sum.prompt_tokens = first.prompt_tokens;
  sum.cached_tokens = first.cached_tokens;
  for (const Choice& choice : choices) {
    const Usage& usage = choice.usage;
    sum.completion_tokens += usage.generated_tokens;
    sum.reasoning_tokens += choice.reasoning_tokens;
    sum.drafted_tokens += usage.drafted_tokens;
    sum.accepted_tokens += usage.accepted_tokens;
    if (usage.finished) sum.seconds = std::max(sum.seconds, *usage.finished - usage.submitted);
  }
  if (first.first_token) sum.first_token_seconds = *first.first_token - first.submitted;
  return sum;
}

std::string DigestOf(const std::vector<Choice>& choices) {
  std::string digits;
  for (const Choice& choice : choices) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(choice.usage.logits_digest));
    digits += text;
  }
  return digits;
}

}  // namespace skald::serve
