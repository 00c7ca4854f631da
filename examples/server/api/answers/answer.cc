// SPDX-License-Identifier: Apache-2.0

#include "server/api/answers/answer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <new>
#include <utility>

namespace skald::serve {
namespace {

ApiError ErrorOf(const Choice& choice) {
  if (choice.error) return ApiErrorOf(*choice.error);
  if (choice.finish == FinishReason::kDeadline) return {504, "the answer was not there in time"};
  return {503, "the server is shutting down"};
}

// Which prompts have events that were not taken yet: looking at all of them for each event would be work that grows
// with the square of their number. Safe for concurrent calls.
class ReadyPrompts {
 public:
  explicit ReadyPrompts(size_t prompts) : is_ready_(prompts, false) {}

  void Add(uint32_t prompt) {
    const std::lock_guard lock(mutex_);
    if (is_ready_[prompt]) return;
    is_ready_[prompt] = true;
    ready_.push_back(prompt);
  }

  // In the order of the prompts.
  std::vector<uint32_t> Take() {
    std::vector<uint32_t> taken;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(ready_);
      for (const uint32_t prompt : taken) is_ready_[prompt] = false;
    }
    std::ranges::sort(taken);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> is_ready_;
  std::vector<uint32_t> ready_;
};

// Requests that were submitted. They are cancelled with it, unless they have come to their ends.
struct Submitted {
  Submitted(ModelLease to, size_t prompts) : model(std::move(to)), ready(std::make_shared<ReadyPrompts>(prompts)) {}
  Submitted(Submitted&&) = default;
  Submitted& operator=(Submitted&&) = delete;
  ~Submitted() {
    for (const EngineLoop::Ticket& ticket : tickets) {
      if (!ticket.inbox->is_finished()) model->service->Cancel(ticket.number);
    }
  }

  ModelLease model;
  std::vector<EngineLoop::Ticket> tickets = {};  // of the prompts
  std::shared_ptr<ReadyPrompts> ready;
};

bool HasFailed(const Choice& choice) {
  return !choice.finish || choice.finish == FinishReason::kError || choice.finish == FinishReason::kCancelled ||
         choice.finish == FinishReason::kDeadline;
}

class AnswerExchange final : public Exchange {
 public:
  // `samples` and `prompt_tokens` are of each prompt and of all.
  AnswerExchange(const Call& call, Submitted submitted, uint32_t samples, uint64_t prompt_tokens,
                 const OutputReading& reading, bool is_stream, bool is_silent, std::unique_ptr<Dialect> dialect,
                 std::array<CountedAnswers, 2> counted, std::function<void(const std::vector<Choice>&)> on_end)
      : metrics_(call.metrics),
        tenant_(call.tenant.name),
        counted_(std::move(counted)),
        submitted_(std::move(submitted)),
        unfinished_(submitted_.tickets.size()),
        is_finished_(submitted_.tickets.size(), false),
        samples_(samples),
        prompt_tokens_(prompt_tokens),
        is_stream_(is_stream),
        is_silent_(is_silent),
        dialect_(std::move(dialect)),
        on_end_(std::move(on_end)),
        choices_(submitted_.tickets.size() * samples) {
    for (size_t i = 0; i < choices_.size(); ++i) {
      choices_[i].sample = static_cast<uint32_t>(i % samples);
      parsers_.push_back(MakeOutputParser(reading));
    }
  }

  ~AnswerExchange() override { (void)TellEnd(); }

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
      piece.head = HttpHead{200, dialect_->StreamType(), {{"X-Accel-Buffering", "no"}}, true};
      piece.body = dialect_->Begin(prompt_tokens_);
    }
    for (const uint32_t prompt : submitted_.ready->Take()) {
      Inbox& inbox = *submitted_.tickets[prompt].inbox;
      while (auto event = inbox.Next(std::chrono::milliseconds(0))) Take(prompt, *std::move(event), piece.body);
      if (is_finished_[prompt] || !inbox.is_finished()) continue;
      is_finished_[prompt] = true;
      --unfinished_;
    }
    if (unfinished_ > 0) return piece;
    piece.is_last = true;
    std::optional<ApiError> error = TellEnd();
    if (const auto failed = std::ranges::find_if(choices_, HasFailed); failed != choices_.end())
      error = ErrorOf(*failed);
    if (is_stream_) {
      piece.body += error ? dialect_->ErrorEvent(*error) : dialect_->End(choices_);
    } else if (!error) {
      piece.head = HttpHead{};
      piece.body = Dump(dialect_->Whole(choices_));
    } else {
      return Fail(*error);
    }
    return piece;
  }

  void Take(size_t prompt, Event event, std::string& out) {
    const auto index = static_cast<uint32_t>(prompt * samples_ + event.sample);
    Choice& choice = choices_[index];
    if (is_silent_) Silence(event);
    OutputParser& parser = *parsers_[index];
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
    choice.stop_string = event.stop_string;
    choice.error = std::move(event.error);
    if (!is_stream_) return;
    if (!parts.empty() || !event.tokens.empty()) {
      out += dialect_->Add({index, choice, std::move(parts), std::move(event.tokens)});
    }
    if (choice.finish && !HasFailed(choice)) out += dialect_->EndChoice(index, choice);
  }

  // Takes the token away that is computed because the engine draws at least one.
  static void Silence(Event& event) {
    event.text.clear();
    event.tokens.clear();
    event.usage.generated_tokens = 0;
    event.stop_string.reset();
    if (event.finish == FinishReason::kEndToken || event.finish == FinishReason::kStopString ||
        event.finish == FinishReason::kFilter) {
      event.finish = FinishReason::kMaxTokens;
    }
  }

  static void Add(const OutputPart& part, Choice& choice) {
    if (part.kind == OutputPart::Kind::kText) choice.text += part.text;
    if (part.kind == OutputPart::Kind::kReasoning) choice.reasoning += part.text;
    if (part.kind == OutputPart::Kind::kToolCall) choice.calls.push_back({NewId("call"), part.text, {}});
    if (part.kind == OutputPart::Kind::kArguments) choice.calls.back().arguments += part.text;
    if (part.kind == OutputPart::Kind::kCallEnd) choice.calls.back().is_whole = true;
  }

  HttpPiece Fail(const ApiError& error) {
    if (is_stream_ && has_begun_) return {{}, dialect_->ErrorEvent(error), true};
    return {HttpHead{error.status}, Dump(dialect_->ErrorJson(error)), true};
  }

  // Returns why the answer could not be kept, if so.
  std::optional<ApiError> TellEnd() {
    if (std::exchange(has_told_, true)) return std::nullopt;
    const AnswerUsage usage = UsageOf(choices_);
    if (!tenant_.empty()) metrics_.CountTokensOf(tenant_, usage.prompt_tokens, usage.completion_tokens);
    if (usage.completion_tokens > 0) {
      const double between = choices_[0].usage.generated_tokens > 1 ? (usage.seconds - usage.first_token_seconds) /
                                                                          (choices_[0].usage.generated_tokens - 1)
                                                                    : 0.0;
      metrics_.CountAnswer(usage.first_token_seconds, between, usage.seconds);
    }
    if (!on_end_) return std::nullopt;
    try {
      on_end_(choices_);
    } catch (const ApiError& error) {
      return error;
    } catch (...) {  // no memory to remember it with: it was said nevertheless
    }
    return std::nullopt;
  }

  Metrics& metrics_;
  const std::string tenant_;
  const std::array<CountedAnswers, 2> counted_;  // of the tenant, and of all
  const Submitted submitted_;
  size_t unfinished_;  // prompts
  std::vector<bool> is_finished_;
  const uint32_t samples_;
  const uint64_t prompt_tokens_;
  const bool is_stream_, is_silent_;
  const std::unique_ptr<Dialect> dialect_;
  const std::function<void(const std::vector<Choice>&)> on_end_;
  std::vector<std::unique_ptr<OutputParser>> parsers_;
  std::vector<Choice> choices_;
  bool has_begun_ = false, has_told_ = false;
};

// Limits the memory of the copies of logit_bias: each answer has its own, though the request has one. Thrown: 400 if
// the copies are too large together.
void CheckMemory(const Request& request, uint64_t number) {
  constexpr uint64_t kMostBiases = uint64_t{8} << 20;  // 64 MB
  const uint64_t biases = request.sampler.logit_bias.size() * number;
  if (biases <= kMostBiases) return;
  throw ApiError{400,
                 "'logit_bias' has " + std::to_string(request.sampler.logit_bias.size()) + " tokens for each of " +
                     std::to_string(number) + " answers, more than " + std::to_string(kMostBiases) + " in all",
                 "logit_bias"};
}

}  // namespace

std::array<CountedAnswers, 2> CountAnswers(const Call& call, uint64_t number) {
  const auto describe = [number](const std::string& who, uint64_t most) {
    return "this request asks for " + std::to_string(number) + " answers, prompts times n; " + who + " " +
           std::to_string(most) + " at a time";
  };
  Tenant& tenant = call.tenant;
  if (number > tenant.max_requests) throw ApiError{400, describe("this key may have", tenant.max_requests)};
  if (number > call.room.most) throw ApiError{400, describe("this server takes", call.room.most)};
  if (!tenant.open_answers->Add(number, tenant.max_requests)) {
    throw ApiError{429,
                   "this key may have " + std::to_string(tenant.max_requests) + " answers at a time",
                   {},
                   "rate_limit_exceeded"};
  }
  CountedAnswers of_tenant(tenant.open_answers, number);
  if (!call.room.open->Add(number, call.room.most)) {
    throw ApiError{429, "as many answers as this server takes are being computed or wait", {}, "rate_limit_exceeded"};
  }
  return {std::move(of_tenant), CountedAnswers(call.room.open, number)};
}

std::unique_ptr<Exchange> BeginAnswer(const Call& call, std::vector<Request> requests, const OutputReading& reading,
                                      bool is_stream, std::unique_ptr<Dialect> dialect,
                                      std::function<void(const std::vector<Choice>&)> on_end) {
  const uint32_t samples = requests.at(0).samples;
  const uint64_t answers = uint64_t{samples} * requests.size();
  CheckMemory(requests[0], answers);
  std::array<CountedAnswers, 2> counted = CountAnswers(call, answers);
  uint64_t prompt_tokens = 0;
  const bool is_silent = requests[0].max_tokens == 0u;
  Submitted submitted(call.lease(), requests.size());
  for (Request& request : requests) {
    call.StopIfAbandoned();
    request.tenant = call.tenant.name;
    request.digest_logits = true;
    if (reading.format.needs_special_text()) request.special_text = true;
    const uint64_t tokens = request.prompt.size();
    prompt_tokens += tokens;
    if (is_silent) request.max_tokens = 1;
    // Clients that do not know the size of the context ask for more than it has: an answer ends when the context is
    // full.
    if (request.max_tokens && tokens + *request.max_tokens > call.model().context()) request.max_tokens.reset();
    const auto prompt = static_cast<uint32_t>(submitted.tickets.size());
    const auto on_event = [prompt, ready = submitted.ready, wake = call.wake] {
      ready->Add(prompt);
      wake();
    };
    auto ticket = call.model().Submit(std::move(request), on_event);
    if (!ticket) throw ApiErrorOf(ticket.error());
    submitted.tickets.push_back(*std::move(ticket));
  }
  return std::make_unique<AnswerExchange>(call, std::move(submitted), samples, prompt_tokens, reading, is_stream,
                                          is_silent, std::move(dialect), std::move(counted), std::move(on_end));
}

Json OwnFacts(const std::vector<Choice>& choices, const std::vector<std::string>& ignored) {
  const AnswerUsage usage = UsageOf(choices);
  Json own = {
      {"digest", DigestOf(choices)}, {"first_token_seconds", usage.first_token_seconds}, {"seconds", usage.seconds}};
  if (!ignored.empty()) own["ignored"] = ignored;
  return own;
}

void Dialect::TellIgnored(Json& own) const {
  if (!ignored_.empty()) own["ignored"] = ignored_;
}

std::string ServerSentEvent(const Json& data, std::string_view name) {
  std::string event;
  if (!name.empty()) event = "event: " + std::string(name) + "\n";
  return event + "data: " + Dump(data) + "\n\n";
}

AnswerUsage UsageOf(const std::vector<Choice>& choices) {
  AnswerUsage sum;
  std::optional<double> first_token;
  for (const Choice& choice : choices) {
    const Usage& usage = choice.usage;
    if (choice.sample == 0) {
      sum.prompt_tokens += usage.prompt_tokens;
      sum.cached_tokens += usage.cached_tokens;
      if (usage.first_token) {
        const double seconds = *usage.first_token - usage.submitted;
        first_token = std::min(first_token.value_or(seconds), seconds);
      }
    }
    sum.completion_tokens += usage.generated_tokens;
    sum.reasoning_tokens += choice.reasoning_tokens;
    sum.drafted_tokens += usage.drafted_tokens;
    sum.accepted_tokens += usage.accepted_tokens;
    if (usage.finished) sum.seconds = std::max(sum.seconds, *usage.finished - usage.submitted);
  }
  sum.first_token_seconds = first_token.value_or(0.0);
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
