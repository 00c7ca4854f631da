// SPDX-License-Identifier: Apache-2.0
//
// An answer of the engine as an answer of HTTP: takes events as they come, divides their text into its parts, and lets
// a dialect write them, as a stream of server-sent events or whole.

#ifndef SKALD_EXAMPLES_SERVER_API_ANSWERS_ANSWER_H_
#define SKALD_EXAMPLES_SERVER_API_ANSWERS_ANSWER_H_

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/api/call.h"
#include "server/api/request/api_error.h"
#include "server/api/request/json_reader.h"
#include "skald/engine/requests/request.h"
#include "skald/open/tools/output_parser.h"

namespace skald::serve {

// One of the answers to a prompt, as far as it has come.
struct Choice {
  struct ToolCall {
    std::string id, name, arguments;
    bool is_whole = false;  // else the answer broke off within it, or has not come to its end
  };
  uint32_t sample = 0;  // which of its prompt's
  std::string text, reasoning;
  std::vector<ToolCall> calls;
  std::vector<SampledToken> tokens;         // all that were drawn and are part of it
  std::vector<SampledToken> prompt_tokens;  // with their log-probabilities, if they were asked for
  std::vector<float> embedding;
  uint64_t reasoning_tokens = 0;
  std::optional<FinishReason> finish;
  std::optional<size_t> stop_string;  // which of the request's ended it
  std::optional<Error> error;
  Usage usage;

  // The calls that a client can make. A stream shows the others as far as they came.
  std::vector<ToolCall> WholeCalls() const {
    std::vector<ToolCall> whole;
    std::ranges::copy_if(calls, std::back_inserter(whole), &ToolCall::is_whole);
    return whole;
  }
};

// The new part of a choice.
struct ChoiceNews {
  uint32_t index;
  const Choice& choice;  // with what is new
  std::vector<OutputPart> parts;
  std::vector<SampledToken> tokens;
};

// "data: JSON", with the event's name before it if there is one.
std::string ServerSentEvent(const Json& data, std::string_view name = {});

// The facts about an answer that only this server tells. `ignored` are the fields of the request that were not done.
Json OwnFacts(const std::vector<Choice>& choices, const std::vector<std::string>& ignored);

// How an API writes answers. Each function returns bytes of a stream, whole events.
class Dialect {
 public:
  // `ignored` are the fields of the request that were not done.
  explicit Dialect(std::vector<std::string> ignored = {}) : ignored_(std::move(ignored)) {}
  virtual ~Dialect() = default;
  // The content type of a stream.
  virtual const char* StreamType() const { return "text/event-stream"; }
  virtual std::string Begin(uint64_t /*prompt_tokens*/) { return {}; }
  virtual std::string Add(const ChoiceNews& news) = 0;
  virtual std::string EndChoice(uint32_t index, const Choice& choice) = 0;
  virtual std::string End(const std::vector<Choice>& choices) = 0;
  virtual std::string ErrorEvent(const ApiError& error) { return ServerSentEvent(ErrorJson(error)); }
  // The answer of a client that wants no stream.
  virtual Json Whole(const std::vector<Choice>& choices) = 0;
  virtual Json ErrorJson(const ApiError& error) = 0;

 protected:
  Json OwnJson(const std::vector<Choice>& choices) const { return OwnFacts(choices, ignored_); }
  // Adds the fields that were not done, if there are any, to the facts that only this server tells.
  void TellIgnored(Json& own) const;

 private:
  const std::vector<std::string> ignored_;
};

// Submits requests that differ in their prompts, and answers them as one: the choices of the first prompt, then those
// of the second, and so on. `on_end` gets the choices as far as they came, also if the client left before the end; if
// it throws an ApiError, the client gets that. Thrown: the engine's refusal; 400 and 429 if the prompts, times their
// samples, are more answers than the tenant or the server may have.
std::unique_ptr<Exchange> BeginAnswer(const Call& call, std::vector<Request> requests, const OutputReading& reading,
                                      bool is_stream, std::unique_ptr<Dialect> dialect,
                                      std::function<void(const std::vector<Choice>&)> on_end = {});

// Counts `number` more answers as open, of the tenant and of the whole server. Thrown: 400 if a limit is less than
// `number`; 429 if too many answers are open now.
std::array<CountedAnswers, 2> CountAnswers(const Call& call, uint64_t number);

// Counts of an answer with all its choices; each prompt's are counted once.
struct AnswerUsage {
  uint64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0, reasoning_tokens = 0, drafted_tokens = 0,
           accepted_tokens = 0;
  double first_token_seconds = 0.0, seconds = 0.0;
};
AnswerUsage UsageOf(const std::vector<Choice>& choices);

// The digests of the logits that the choices were drawn from, as hexadecimal digits.
std::string DigestOf(const std::vector<Choice>& choices);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ANSWERS_ANSWER_H_
