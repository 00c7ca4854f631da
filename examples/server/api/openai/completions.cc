// SPDX-License-Identifier: Apache-2.0
//
// Completions, the API of texts that go on: platform.openai.com/docs/api-reference/completions.

#include <optional>
#include <string>
#include <utility>

#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"
#include "server/api/request/sampling.h"
#include "server/api/request/texts.h"

namespace skald::serve {
namespace {

constexpr size_t kMostPrompts = 2048;

struct CompletionForm {
  struct Echo {
    std::string text;
    int32_t first;  // token
  };
  std::vector<Echo> echoes = {};  // of the prompts, what comes before each one's answers; empty: nothing does
  uint32_t samples = 1;           // of each prompt
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no log-probabilities
  bool with_usage = false;
};

class CompletionDialect final : public OpenAiDialect {
 public:
  CompletionDialect(std::string model, CompletionForm form)
      : OpenAiDialect(NewId("cmpl"), std::move(model)), form_(std::move(form)) {}

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
    return Chunk({{"index", index}, {"text", ""}, {"logprobs", nullptr}, {"finish_reason", FinishReasonOf(choice)}});
  }

  std::string End(const std::vector<Choice>& choices) override {
    return EndOfStream("text_completion", form_.with_usage, choices);
  }

  Json Whole(const std::vector<Choice>& choices) override {
    Json json = Head("text_completion");
    json["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      json["choices"].push_back({{"index", i},
                                 {"text", EchoOf(i) + choices[i].text},
                                 {"logprobs", LogprobsOf(choices, i)},
                                 {"finish_reason", FinishReasonOf(choices[i])}});
    }
    json["usage"] = UsageJson(choices);
    json["skald"] = OwnJson(choices);
    return json;
  }

 private:
  std::string EchoOf(size_t index) const {
    return form_.echoes.empty() ? "" : form_.echoes[index / form_.samples].text;
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
      tokens.push_back(std::string(form_.vocabulary->BytesOf(id)));
      values.push_back(std::move(value));
      tops.push_back(std::move(top));
      offsets.push_back(offset);
      offset += form_.vocabulary->BytesOf(id).size();
    };
    const auto add_scored = [&](const SampledToken& token) {
      Json top = Json::object();
      for (const TokenLogprob& one : token.top_logprobs) top[Printed(one.id)] = one.logprob;
      add(token.id, token.logprob.value_or(0.0f), std::move(top));
    };
    if (first) add(*first, nullptr, nullptr);
    for (const SampledToken& token : prompt) add_scored(token);
    for (const SampledToken& token : answer) add_scored(token);
    return {{"tokens", tokens}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}};
  }
  std::string Printed(int32_t id) const { return std::string(form_.vocabulary->BytesOf(id)); }

  std::string Chunk(Json choice) {
    Json json = Head("text_completion");
    json["choices"] = Json::array({std::move(choice)});
    if (form_.with_usage) json["usage"] = nullptr;
    return ServerSentEvent(json);
  }

  const CompletionForm form_;
  std::vector<bool> has_begun_;
};

std::shared_ptr<const TokenFilter> ReadGrammar(const Call& call, JsonReader& reader) {
  const auto text = reader.String("grammar");
  return text ? Take(call.service->model().FilterOfGrammar(*text), "grammar") : nullptr;
}

}  // namespace

Answer Completions(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  const NamedModel& model = ReadModel(reader, call);
  Request request;
  request.adapter = model.adapter;
  ReadSampling(reader, call, request);
  const std::vector<std::vector<int32_t>> prompts = ReadTexts(reader, "prompt", call, kMostPrompts);
  request.filter = ReadGrammar(call, reader);
  SetMostTokens(reader.Integer("max_tokens", 1, kMostRequestTokens).value_or(16), call, request);
  if (const auto best = reader.Integer("best_of", 1, 128); best && *best != request.samples) {
    reader.Fail("best_of", "as many as 'n': answers are not ranked");
  }
  reader.Refuse("suffix", "this server does not fill in the middle", {""});
  CompletionForm form;
  form.samples = request.samples;
  const bool echoes = reader.Bool("echo").value_or(false);
  if (const auto top = reader.Integer("logprobs", 0, 20)) {
    request.sampler.num_logprobs = static_cast<size_t>(*top);
    form.vocabulary = Take(call.service->model().NamedVocabulary());
    if (echoes) request.prompt_logprobs = static_cast<size_t>(*top);
  }
  const bool is_stream = reader.Bool("stream").value_or(false);
  form.with_usage = ReadIncludeUsage(reader, is_stream);
  RefuseOpenAiFields(reader);
  reader.Finish();
  std::vector<Request> requests(prompts.size(), request);
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (echoes)
      form.echoes.push_back(
          {call.service->model().served().text.tokenizer.Decode(prompts[i]).value_or(""), prompts[i][0]});
    requests[i].prompt = prompts[i];
  }
  auto dialect = std::make_unique<CompletionDialect>(model.name, std::move(form));
  return BeginAnswer(call, std::move(requests), {}, is_stream, std::move(dialect));
}

}  // namespace skald::serve
