// SPDX-License-Identifier: Apache-2.0
//
// Completions, the API of texts that go on: platform.openai.com/docs/api-reference/completions.

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "server/api/answers/answer_form.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"
#include "server/api/request/texts.h"

namespace skald::serve {
namespace {

constexpr size_t kMostPrompts = 2048;
constexpr uint32_t kUsualTokens = 16;  // of an answer, as OpenAI has it

struct CompletionForm {
  struct Echo {
    std::string text;
    int32_t first;  // token
  };
  std::vector<Echo> echoes = {};  // of the prompts, what comes before each one's answers; empty: nothing does
  uint32_t samples = 1;           // that are drawn for each prompt
  uint32_t chosen = 1;            // of these, that are told: the likeliest
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no log-probabilities
  std::vector<int32_t> ends = {};                               // tokens that end an answer and are told nevertheless
  bool with_usage = false;
  std::vector<std::string> ignored = {};  // fields of the request
};

class CompletionDialect final : public OpenAiDialect {
 public:
  CompletionDialect(std::string model, CompletionForm form)
      : OpenAiDialect(NewId("cmpl"), std::move(model), form.ignored), form_(std::move(form)) {}

  std::string Add(const ChoiceNews& news) override {
    std::string text;
    for (const OutputPart& part : news.parts) text += part.text;
    if (news.index >= has_begun_.size()) has_begun_.resize(news.index + 1);
    if (!has_begun_[news.index]) text = EchoOf(news.index) + text;
    has_begun_[news.index] = true;
    return Chunk({{"index", news.index},
                  {"text", text},
                  {"logprobs", Logprobs({}, {}, news.tokens)},
                  {"finish_reason", nullptr}});
  }

  std::string EndChoice(uint32_t index, const Choice& choice) override {
    return Chunk({{"index", index}, {"text", ""}, {"logprobs", nullptr}, {"finish_reason", FinishOf(choice)}});
  }

  std::string End(const std::vector<Choice>& choices) override {
    return EndOfStream("text_completion", form_.with_usage, choices);
  }

  Json Whole(const std::vector<Choice>& choices) override {
    Json json = Head("text_completion");
    json["choices"] = Json::array();
    for (const size_t i : Chosen(choices)) {
      json["choices"].push_back({{"index", json["choices"].size()},
                                 {"text", EchoOf(i) + choices[i].text},
                                 {"logprobs", LogprobsOf(choices, i)},
                                 {"finish_reason", FinishOf(choices[i])}});
    }
    json["usage"] = UsageJson(choices);
    json["skald"] = OwnJson(choices);
    return json;
  }

 private:
  std::string FinishOf(const Choice& choice) const {
    const auto is_end = [&](const SampledToken& token) {
      return std::ranges::find(form_.ends, token.id) != form_.ends.end();
    };
    return std::ranges::any_of(choice.tokens, is_end) ? "stop" : FinishReasonOf(choice);
  }

  std::string EchoOf(size_t index) const {
    return form_.echoes.empty() ? "" : form_.echoes[index / form_.samples].text;
  }

  // The places of the choices that are told.
  std::vector<size_t> Chosen(const std::vector<Choice>& choices) const {
    std::vector<size_t> places;
    for (size_t first = 0; first < choices.size(); first += form_.samples) {
      std::vector<size_t> ranked(form_.samples);
      std::iota(ranked.begin(), ranked.end(), first);
      if (form_.chosen < form_.samples) {
        std::ranges::stable_sort(ranked, std::greater(), [&](size_t i) { return MeanLogprob(choices[i]); });
      }
      places.insert(places.end(), ranked.begin(), ranked.begin() + form_.chosen);
    }
    return places;
  }

  static double MeanLogprob(const Choice& choice) {
    if (choice.tokens.empty()) return -std::numeric_limits<double>::infinity();
    double sum = 0.0;
    for (const SampledToken& token : choice.tokens) sum += static_cast<double>(token.logprob.value_or(0.0f));
    return sum / static_cast<double>(choice.tokens.size());
  }

  // Those of its prompt are told with the first of the prompt's answers.
  Json LogprobsOf(const std::vector<Choice>& choices, size_t index) const {
    const size_t prompt = index / form_.samples;
    const auto first = form_.echoes.empty() ? std::nullopt : std::optional(form_.echoes[prompt].first);
    return Logprobs(first, choices[prompt * form_.samples].prompt_tokens, choices[index].tokens);
  }

  // The older form: lists side by side. Of an echo's first token nothing is known.
  Json Logprobs(std::optional<int32_t> first, std::span<const SampledToken> prompt,
                std::span<const SampledToken> answer) const {
    if (!form_.vocabulary) return nullptr;
    Json tokens = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
    size_t offset = 0;
    const auto add = [&](int32_t id, Json value, Json top) {
      tokens.push_back(Printed(id));
      values.push_back(std::move(value));
      tops.push_back(std::move(top));
      offsets.push_back(offset);
      offset += form_.vocabulary->BytesOf(id).size();
    };
    const auto add_scored = [&](const SampledToken& token) {
      Json top = Json::object();
      for (const TokenLogprob& one : token.top_logprobs) top.emplace(Printed(one.id), one.logprob);
      add(token.id, token.logprob.value_or(0.0f), std::move(top));
    };
    if (first) add(*first, nullptr, nullptr);
    for (const SampledToken& token : prompt) add_scored(token);
    for (const SampledToken& token : answer) add_scored(token);
    return {{"tokens", tokens}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}};
  }
  std::string Printed(int32_t id) const { return PrintedToken(form_.vocabulary->BytesOf(id)); }

  std::string Chunk(Json choice) {
    Json json = Head("text_completion");
    json["choices"] = Json::array({std::move(choice)});
    if (form_.with_usage) json["usage"] = nullptr;
    return ServerSentEvent(json);
  }

  const CompletionForm form_;
  std::vector<bool> has_begun_;
};

}  // namespace

Answer Completions(const Call& call) {
  BodyReader reader(call, "CompletionRequest");
  const NamedModel& model = ReadModel(reader, call);
  Request request;
  request.adapter = model.adapter;
  const uint32_t least_tokens = ReadSampling(reader, call, request);
  const std::vector<std::vector<int32_t>> prompts = ReadTexts(reader, "prompt", call, kMostPrompts);
  SetMostTokens(ReadMostTokens(reader, {"max_tokens", "n_predict"}).value_or(MostTokens{kUsualTokens}), call, request);
  AnswerForm answer_form = ReadAnswerForm(reader);
  ReadResponseFormat(reader, "response_format", answer_form);
  request.filter = FilterOfForm(call, answer_form, request);
  SetLeastTokens(least_tokens, call, request);
  const auto best = reader.Integer("best_of", request.samples, 128);
  CompletionForm form;
  form.samples = form.chosen = request.samples;
  const bool echoes = reader.Bool("echo").value_or(false);
  if (const auto top = reader.Integer("logprobs", 0, 20)) {
    request.sampler.num_logprobs = static_cast<size_t>(*top);
    form.vocabulary = Take(call.model().NamedVocabulary());
    if (echoes) request.prompt_logprobs = static_cast<size_t>(*top);
  }
  // Clients that ask for the one token after a text count on it, even where it ends the text.
  if (form.vocabulary && !request.filter && request.max_tokens == 1u) form.ends = std::exchange(request.end_tokens, {});
  const bool is_stream = reader.Bool("stream").value_or(false);
  if (best && *best > form.chosen) {
    if (is_stream) reader.Fail("best_of", "as many as 'n': which are the best is known at the end of a stream");
    form.samples = request.samples = static_cast<uint32_t>(*best);
    if (!request.sampler.num_logprobs) request.sampler.num_logprobs = 0;
  }
  form.with_usage = ReadIncludeUsage(reader, is_stream);
  reader.Finish();
  form.ignored = reader.notes()->ignored();
  std::vector<Request> requests(prompts.size(), request);
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (echoes)
      form.echoes.push_back({call.model().served().text.tokenizer.Decode(prompts[i]).value_or(""), prompts[i][0]});
    requests[i].prompt = prompts[i];
  }
  auto dialect = std::make_unique<CompletionDialect>(model.name, std::move(form));
  return BeginAnswer(call, std::move(requests), {}, is_stream, std::move(dialect));
}

}  // namespace skald::serve
