// SPDX-License-Identifier: Apache-2.0
//
// Texts that go on, and texts between two others, as llama.cpp's server has them.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/answer_form.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/form.h"
#include "server/api/llama_cpp/infill.h"
#include "server/api/llama_cpp/sampling.h"
#include "server/api/openai/form.h"
#include "server/api/openai/logprobs.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"
#include "server/api/request/texts.h"

namespace skald::serve {
namespace {

struct LlamaCppForm {
  std::string model;
  std::vector<std::vector<int32_t>> prompts = {};
  Tokenizer tokenizer;
  SamplerSettings sampler = {};
  std::optional<uint32_t> most_tokens = {};
  std::vector<std::string> stops = {};
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no probabilities
  bool with_tokens = false, with_timings = false;
  uint32_t context = 0;
  std::vector<std::string> fields = {};   // of an answer that the client wants; empty: all
  std::vector<std::string> ignored = {};  // fields of the request
};

class LlamaCppDialect final : public Dialect {
 public:
  explicit LlamaCppDialect(LlamaCppForm form) : Dialect(form.ignored), form_(std::move(form)) {}

  std::string Add(const ChoiceNews& news) override {
    std::string text;
    for (const OutputPart& part : news.parts) text += part.text;
    Json json = Piece(news.index, text, news.tokens);
    json["stop"] = false;
    SetCounts(news.choice, json);
    if (form_.with_timings) json["timings"] = TimingsJson(UsageOf({news.choice}));
    return ServerSentEvent(json);
  }

  std::string EndChoice(uint32_t index, const Choice& choice) override {
    return ServerSentEvent(Wanted(Ended(Piece(index, "", {}), index, choice)));
  }

  std::string End(const std::vector<Choice>&) override { return {}; }

  Json Whole(const std::vector<Choice>& choices) override {
    Json all = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      all.push_back(Wanted(Ended(Piece(i, choices[i].text, choices[i].tokens), i, choices[i])));
    }
    return all.size() == 1 ? all[0] : all;
  }

  Json ErrorJson(const ApiError& error) override { return LlamaCppErrorJson(error); }

 private:
  Json Piece(size_t index, const std::string& text, std::span<const SampledToken> tokens) const {
    Json json = {{"index", index}, {"content", text}, {"tokens", Json::array()}};
    if (form_.with_tokens) {
      for (const SampledToken& token : tokens) json["tokens"].push_back(token.id);
    }
    json["id_slot"] = index;
    if (form_.vocabulary && !tokens.empty()) json["completion_probabilities"] = Probabilities(tokens);
    return json;
  }

  Json Probabilities(std::span<const SampledToken> tokens) const {
    Json list = LogprobsJson(*form_.vocabulary, tokens);
    for (size_t i = 0; i < tokens.size(); ++i) {
      list[i]["id"] = tokens[i].id;
      for (size_t k = 0; k < tokens[i].top_logprobs.size(); ++k) {
        list[i]["top_logprobs"][k]["id"] = tokens[i].top_logprobs[k].id;
      }
    }
    return list;
  }

  static void SetCounts(const Choice& choice, Json& json) {
    json["tokens_predicted"] = choice.usage.generated_tokens;
    json["tokens_evaluated"] = choice.usage.prompt_tokens;
  }

  Json Ended(Json json, size_t index, const Choice& choice) const {
    json["stop"] = true;
    json["model"] = form_.model;
    SetCounts(choice, json);
    json["generation_settings"] = SettingsJson(form_.sampler);
    json["generation_settings"]["n_predict"] = form_.most_tokens ? Json(*form_.most_tokens) : Json(-1);
    json["generation_settings"]["stop"] = form_.stops;
    json["prompt"] = form_.tokenizer.Decode(form_.prompts[index], SkipSpecial::kNo).value_or("");
    json["has_new_line"] = choice.text.find('\n') != choice.text.npos;
    json["truncated"] = choice.finish == FinishReason::kMaxTokens &&
                        choice.usage.prompt_tokens + choice.usage.generated_tokens >= form_.context;
    json["stop_type"] = choice.stop_string ? "word" : choice.finish == FinishReason::kMaxTokens ? "limit" : "eos";
    json["stopping_word"] = choice.stop_string ? form_.stops.at(*choice.stop_string) : "";
    json["tokens_cached"] = choice.usage.prompt_tokens + choice.usage.generated_tokens;
    json["timings"] = TimingsJson(UsageOf({choice}));
    json["skald"] = OwnJson({choice});
    return json;
  }

  // The fields that the client wants, under the names by which it asks for them: FIELD, or FIELD/FIELD of one within.
  Json Wanted(Json json) const {
    if (form_.fields.empty()) return json;
    Json wanted = Json::object();
    for (const std::string& path : form_.fields) {
      const Json* found = &json;
      for (size_t begin = 0; found != nullptr && begin <= path.size();) {
        const size_t end = std::min(path.find('/', begin), path.size());
        const auto field = found->is_object() ? found->find(path.substr(begin, end - begin)) : found->end();
        found = found->is_object() && field != found->end() ? &*field : nullptr;
        begin = end + 1;
      }
      if (found != nullptr) wanted[path] = *found;
    }
    return wanted;
  }

  const LlamaCppForm form_;
};

// The fields that both endpoints have, but for the prompt and the filter, which needs it.
struct LlamaCppRequest {
  Request request;
  LlamaCppForm form;
  bool is_stream = false;
  uint32_t least_tokens = 0;
};

LlamaCppRequest ReadRequest(JsonReader& reader, const Call& call) {
  const NamedModel& model = ReadModel(reader, call);
  LlamaCppRequest read = {.request = {},
                          .form = {.model = model.name, .tokenizer = call.model().served().text.tokenizer}};
  // Not in the braces above: where it throws there, g++ 12 destroys the form twice.
  read.is_stream = reader.Bool("stream").value_or(false);
  Request& request = read.request;
  read.least_tokens = ReadLlamaSampling(reader, call, request, "n_predict");
  request.adapter = model.adapter;
  if (const auto top = reader.Integer("n_probs", 0, 20); top && *top > 0) {
    request.sampler.num_logprobs = static_cast<size_t>(*top);
    read.form.vocabulary = Take(call.model().NamedVocabulary());
  }
  read.form.with_tokens = reader.Bool("return_tokens").value_or(false) || read.is_stream;
  constexpr size_t kMostFields = 64;
  read.form.fields = reader.Strings("response_fields");
  if (read.form.fields.size() > kMostFields) reader.Fail("response_fields", "at most 64 names");
  read.form.with_timings = reader.Bool("timings_per_token").value_or(false);
  return read;
}

// Of the first prompt, as good as any.
void SetFilter(const Call& call, const AnswerForm& form, LlamaCppRequest& read) {
  read.request.filter = FilterOfForm(call, form, read.request);
  SetLeastTokens(read.least_tokens, call, read.request);
}

Answer Begin(const Call& call, LlamaCppRequest read, std::vector<std::vector<int32_t>> prompts) {
  std::vector<Request> requests(prompts.size(), read.request);
  for (size_t i = 0; i < prompts.size(); ++i) requests[i].prompt = prompts[i];
  read.form.prompts = std::move(prompts);
  read.form.sampler = read.request.sampler;
  read.form.most_tokens = read.request.max_tokens;
  read.form.context = call.model().context();
  read.form.stops = read.request.stop_strings;
  return BeginAnswer(call, std::move(requests), {}, read.is_stream,
                     std::make_unique<LlamaCppDialect>(std::move(read.form)));
}

// Other files around the text, {"filename": ..., "text": ...} each.
std::vector<std::pair<std::string, std::string>> ReadFiles(JsonReader& reader, RequestNotes& notes) {
  std::vector<std::pair<std::string, std::string>> files;
  const Json* const list = reader.Array("input_extra");
  if (list == nullptr) return files;
  for (size_t i = 0; i < list->size(); ++i) {
    JsonReader file((*list)[i], "input_extra[" + std::to_string(i) + "]", "InfillFile", &notes);
    const auto name = file.String("filename");
    files.emplace_back(name.value_or("file"), file.NeedString("text"));
    file.Finish();
  }
  return files;
}

}  // namespace

Answer LlamaCppCompletion(const Call& call) {
  BodyReader reader(call, "LlamaCppRequest");
  LlamaCppRequest read = ReadRequest(reader, call);
  constexpr size_t kMostTexts = 2048;
  auto prompts = ReadTexts(reader, "prompt", call, kMostTexts, ParseSpecial::kYes);
  const AnswerForm form = ReadAnswerForm(reader);
  reader.Finish();
  read.form.ignored = reader.notes()->ignored();
  read.request.prompt = prompts[0];
  SetFilter(call, form, read);
  return Begin(call, std::move(read), std::move(prompts));
}

Answer LlamaCppInfill(const Call& call) {
  BodyReader reader(call, "InfillRequest");
  LlamaCppRequest read = ReadRequest(reader, call);
  InfillTexts texts = {.prefix = reader.NeedString("input_prefix"),
                       .suffix = reader.NeedString("input_suffix"),
                       .files = ReadFiles(reader, *reader.notes())};
  texts.prefix += reader.String("prompt").value_or("");
  const AnswerForm form = ReadAnswerForm(reader);
  reader.Finish();
  read.form.ignored = reader.notes()->ignored();
  std::vector<int32_t> prompt = InfillPrompt(call, texts, "input_prefix", read.request);
  read.request.prompt = prompt;
  SetFilter(call, form, read);
  return Begin(call, std::move(read), {std::move(prompt)});
}

}  // namespace skald::serve
