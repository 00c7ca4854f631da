// SPDX-License-Identifier: Apache-2.0
//
// Completions, the API of texts that go on: platform.openai.com/docs/api-reference/completions.

#include <optional>
#include <string>
#include <utility>

#include "serve/api/endpoints.h"
#include "serve/api/openai/form.h"
#include "serve/api/openai/logprobs.h"
#include "serve/api/request/sampling.h"
#include "skald/text/filters/gbnf.h"
#include "skald/text/filters/grammar_filter.h"

namespace skald::serve {
namespace {

struct CompletionForm {
  std::string echo = {};                                        // what comes before each answer
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no log-probabilities
  std::vector<int32_t> prompt = {};                             // for the log-probabilities of an echo
  bool echoes = false, with_usage = false;
};

class CompletionDialect final : public OpenAiDialect {
 public:
  CompletionDialect(std::string model, CompletionForm form)
      : OpenAiDialect(NewId("cmpl"), std::move(model)), form_(std::move(form)) {}

  std::string Add(const ChoiceNews& news) override {
    std::string text;
    for (const OutputPart& part : news.parts) text += part.text;
    if (news.index >= has_begun_.size()) has_begun_.resize(news.index + 1);
    if (!has_begun_[news.index]) text = form_.echo + text;
    has_begun_[news.index] = true;
    return Chunk(
        {{"index", news.index}, {"text", text}, {"logprobs", Logprobs({}, news.tokens)}, {"finish_reason", nullptr}});
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
                                 {"text", form_.echo + choices[i].text},
                                 {"logprobs", Logprobs(choices[0].prompt_tokens, choices[i].tokens)},
                                 {"finish_reason", FinishReasonOf(choices[i])}});
    }
    json["usage"] = UsageJson(choices);
    json["skald"] = OwnJson(choices);
    return json;
  }

 private:
  // The older form: lists side by side. Of an echo's first token nothing is known.
  Json Logprobs(std::span<const SampledToken> prompt, std::span<const SampledToken> answer) const {
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
    if (form_.echoes && !prompt.empty()) {
      add(form_.prompt[0], nullptr, nullptr);
      for (const SampledToken& token : prompt) add_scored(token);
    }
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

// One text, or the ids of its tokens.
std::vector<int32_t> ReadPrompt(const Call& call, JsonReader& reader) {
  const Tokenizer& tokenizer = call.service->model().tokenizer;
  const Json* prompt = reader.Any("prompt");
  if (prompt != nullptr && prompt->is_array() && prompt->size() == 1 && !(*prompt)[0].is_number()) {
    prompt = &(*prompt)[0];
  }
  if (prompt == nullptr) reader.Fail("prompt", "a text, or the ids of its tokens");
  if (prompt->is_string()) {
    return Take(tokenizer.Encode(prompt->get<std::string>(), ParseSpecial::kNo, AddSpecial::kYes), "prompt");
  }
  if (!prompt->is_array()) reader.Fail("prompt", "a text, or the ids of its tokens");
  std::vector<int32_t> ids;
  for (const Json& id : *prompt) {
    if (!id.is_number_integer())
      reader.Fail("prompt", "one text, or the ids of its tokens; send several texts one by one");
    const auto value = id.get<int64_t>();
    if (value < 0 || value >= call.service->model().model.vocab_size()) {
      reader.Fail("prompt", "ids of tokens below " + std::to_string(call.service->model().model.vocab_size()));
    }
    ids.push_back(static_cast<int32_t>(value));
  }
  return ids;
}

std::shared_ptr<const TokenFilter> ReadGrammar(const Call& call, JsonReader& reader) {
  const auto text = reader.String("grammar");
  if (!text) return nullptr;
  const Grammar grammar = Take(ParseGbnf(*text), "grammar");
  return std::make_shared<const GrammarFilter>(
      Take(GrammarFilter::Compile(grammar, Take(call.service->Vocabulary())), "grammar"));
}

}  // namespace

Answer Completions(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  ReadModelName(reader, call);
  Request request;
  ReadSampling(reader, call, request);
  request.prompt = ReadPrompt(call, reader);
  request.filter = ReadGrammar(call, reader);
  SetMostTokens(reader.Integer("max_tokens", 1, kMostRequestTokens).value_or(16), call, request);
  if (const auto best = reader.Integer("best_of", 1, 128); best && *best != request.samples) {
    reader.Fail("best_of", "as many as 'n': answers are not ranked");
  }
  reader.Refuse("suffix", "this server does not fill in the middle", {""});
  CompletionForm form;
  form.echoes = reader.Bool("echo").value_or(false);
  if (form.echoes) form.echo = call.service->model().tokenizer.Decode(request.prompt).value_or("");
  if (const auto top = reader.Integer("logprobs", 0, 20)) {
    request.sampler.num_logprobs = static_cast<size_t>(*top);
    form.vocabulary = Take(call.service->NamedVocabulary());
    if (form.echoes) request.prompt_logprobs = static_cast<size_t>(*top);
    form.prompt = request.prompt;
  }
  const bool is_stream = reader.Bool("stream").value_or(false);
  form.with_usage = ReadIncludeUsage(reader, is_stream);
  RefuseOpenAiFields(reader);
  reader.Finish();
  auto dialect = std::make_unique<CompletionDialect>(call.service->model().name, std::move(form));
  return BeginAnswer(call, std::move(request), {}, is_stream, std::move(dialect));
}

}  // namespace skald::serve
