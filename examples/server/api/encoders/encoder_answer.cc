// SPDX-License-Identifier: Apache-2.0

#include "server/api/encoders/encoder_answer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <optional>
#include <utility>

#include "server/api/answers/answer.h"

namespace skald::serve {
namespace {

// Shared by the client's side and the service's side of an answer.
struct WorkState {
  std::atomic<bool> is_done = false, is_abandoned = false;
};

// Other than a prompt's, the longest text is the model's own.
ApiError ErrorOf(const Error& error) {
  if (error.code != skald::ErrorCode::kOutOfRange) return ApiErrorOf(error);
  return {400, error.message + "; 'truncate' chooses another treatment", {}, "context_length_exceeded"};
}

class EncoderExchange final : public Exchange {
 public:
  EncoderExchange(const Call& call, std::shared_ptr<EncoderWork> work, std::shared_ptr<WorkState> state,
                  std::array<CountedAnswers, 2> counted, std::function<Json(const EncoderWork&)> write,
                  std::function<Json(const ApiError&)> write_error, HeaderList headers)
      : metrics_(call.metrics),
        tenant_(call.tenant.name),
        lease_(call.lease()),
        counted_(std::move(counted)),
        work_(std::move(work)),
        state_(std::move(state)),
        write_(std::move(write)),
        write_error_(std::move(write_error)),
        headers_(std::move(headers)) {}

  ~EncoderExchange() override { state_->is_abandoned = true; }

  HttpPiece Next() override {
    if (!state_->is_done) return {};
    if (work_->error) return Fail(ErrorOf(*work_->error));
    if (!tenant_.empty()) metrics_.CountTokensOf(tenant_, TokensOf(*work_), 0);
    try {
      HttpHead head;
      head.headers = headers_;
      return {std::move(head), Dump(write_(*work_)), true};
    } catch (const ApiError& error) {
      return Fail(error);
    } catch (const std::exception& error) {
      return Fail({500, error.what()});
    }
  }

 private:
  HttpPiece Fail(const ApiError& error) const { return {HttpHead{error.status}, Dump(write_error_(error)), true}; }

  Metrics& metrics_;
  const std::string tenant_;
  const ModelLease lease_;  // the model stays as long as this
  const std::array<CountedAnswers, 2> counted_;
  const std::shared_ptr<EncoderWork> work_;
  const std::shared_ptr<WorkState> state_;
  const std::function<Json(const EncoderWork&)> write_;
  const std::function<Json(const ApiError&)> write_error_;
  const HeaderList headers_;
};

// Names of fields come from the client: what could be more than a name in a header is left out of it.
HeaderList HeadersOfIgnored(const std::vector<std::string>& ignored) {
  constexpr size_t kMostBytes = 1024;
  std::string names;
  for (const std::string& name : ignored) {
    const bool is_plain = std::ranges::all_of(
        name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
    if (names.size() < kMostBytes) names += (names.empty() ? "" : ", ") + (is_plain ? name.substr(0, 64) : "?");
  }
  if (names.empty()) return {};
  return {{"X-Skald-Ignored", names}};
}

bool IsId(const Json& json) { return json.is_number(); }

// A text as it is, or the ids of one.
struct GivenText {
  std::string text = {};
  TextIds ids = {};
  bool is_ids = false;
};

GivenText ReadGiven(const Json& json, JsonReader& reader, std::string_view name, int64_t vocab_size) {
  GivenText given;
  if (json.is_string() && !json.get_ref<const std::string&>().empty()) {
    given.text = json.get<std::string>();
    return given;
  }
  if (!json.is_array() || json.empty()) {
    reader.Fail(name, "texts that are not empty, or lists of ids of tokens");
  }
  given.is_ids = true;
  for (const Json& one : json) {
    const bool is_id = one.is_number_integer() && one.get<int64_t>() >= 0 && one.get<int64_t>() < vocab_size;
    if (!is_id) reader.Fail(name, "texts, or lists of ids of tokens below " + std::to_string(vocab_size));
    given.ids.tokens.push_back(one.get<int32_t>());
  }
  return given;
}

std::vector<GivenText> ReadAllGiven(JsonReader& reader, std::string_view name, int64_t vocab_size) {
  const Json* const field = reader.Any(name);
  if (field == nullptr) reader.Fail(name, "a text, the ids of its tokens, or a list of either");
  const bool is_list = field->is_array() && !field->empty() && !IsId((*field)[0]);
  if (!is_list) return {ReadGiven(*field, reader, name, vocab_size)};
  if (field->size() > kMostEncodedTexts) {
    reader.Fail(name, "at most " + std::to_string(kMostEncodedTexts) + " texts");
  }
  std::vector<GivenText> all;
  for (const Json& one : *field) all.push_back(ReadGiven(one, reader, name, vocab_size));
  return all;
}

// Thrown: 400 if the model, with this pooling, has no embedding for a text.
void CheckEmbeds(const Call& call, Pooling pooling, OfTokens of_tokens) {
  const EncoderFacts& facts = call.encoder()->encoder().facts();
  const std::string model = "the model '" + call.at_work().name() + "' ";
  if (facts.kind == EncoderKind::kReranker || facts.kind == EncoderKind::kDecoderReranker) {
    throw ApiError{400, model + "ranks texts and does not embed them: see /v1/rerank", "model"};
  }
  if (pooling != Pooling::kNone || of_tokens == OfTokens::kTake) return;
  throw ApiError{400,
                 model + "has an embedding for each token of a text, which this API has no form for: " +
                     "/v1/embeddings, /embedding and /embed_all have one",
                 "model"};
}

void CheckNumbers(const EncoderWork& work, const EncoderFacts& facts, std::string_view name) {
  const bool of_tokens = work.embed.pooling.value_or(facts.pooling) == Pooling::kNone;
  const uint64_t rows = of_tokens ? TokensOf(work) : work.texts.size();
  const uint64_t numbers = rows * work.embed.dimension.value_or(static_cast<size_t>(facts.dimension));
  if (numbers <= kMostEncodedNumbers) return;
  throw ApiError{400,
                 "the embeddings of '" + std::string(name) + "' have " + std::to_string(numbers) +
                     " numbers, more than the " + std::to_string(kMostEncodedNumbers) + " of one answer",
                 std::string(name)};
}

void CheckTokens(const EncoderWork& work, std::string_view name, uint32_t longest) {
  for (size_t i = 0; i < work.texts.size() && work.embed.long_text == LongText::kRefuse; ++i) {
    const size_t tokens = work.texts[i].tokens.size();
    if (tokens <= longest) continue;
    throw ApiError{400,
                   "text " + std::to_string(i) + " of '" + std::string(name) + "' is too long: " +
                       std::to_string(tokens) + " tokens > " + std::to_string(longest) + " of the model's longest text",
                   std::string(name), "context_length_exceeded"};
  }
  if (TokensOf(work) > kMostEncodedTokens) {
    throw ApiError{400,
                   "'" + std::string(name) + "' has " + std::to_string(TokensOf(work)) + " tokens, more than the " +
                       std::to_string(kMostEncodedTokens) + " of one request",
                   std::string(name)};
  }
}

std::shared_ptr<EncoderWork> WorkOf(std::vector<GivenText> given, std::string_view name, const Call& call,
                                    EmbedOptions options) {
  const Encoder& encoder = call.encoder()->encoder();
  auto work = std::make_shared<EncoderWork>();
  std::vector<std::string> texts;
  for (GivenText& one : given) {
    if (!one.is_ids) texts.push_back(std::move(one.text));
  }
  call.StopIfAbandoned();
  std::vector<TextIds> ids;
  if (!texts.empty()) ids = Take(encoder.Tokenize(texts, options), std::string(name));
  size_t next = 0;
  for (GivenText& one : given) work->texts.push_back(std::move(one.is_ids ? one.ids : ids[next++]));
  work->embed = std::move(options);
  CheckTokens(*work, name, encoder.facts().longest_text);
  CheckNumbers(*work, encoder.facts(), name);
  return work;
}

}  // namespace

LongText ReadLongText(JsonReader& reader, std::string_view name, LongText otherwise) {
  const Json* const field = reader.Any(name);
  if (field == nullptr) return otherwise;
  if (field->is_boolean()) return field->get<bool>() ? LongText::kCut : LongText::kRefuse;
  if (*field == "cut") return LongText::kCut;
  if (*field == "windows") return LongText::kWindows;
  if (*field != "error") reader.Fail(name, "true, false, \"error\", \"cut\" or \"windows\"");
  return LongText::kRefuse;
}

void NeedEncoder(const Call& call) {
  if (call.encoder() != nullptr) return;
  throw ApiError{400,
                 "the model '" + call.at_work().name() +
                     "' writes texts: this path is for models that embed them, and /v1/embeddings for both",
                 "model"};
}

std::optional<size_t> ReadDimension(JsonReader& reader, const Call& call, std::string_view name) {
  const auto dimension = reader.Integer(name, 1, call.encoder()->encoder().facts().dimension);
  return dimension ? std::optional(static_cast<size_t>(*dimension)) : std::nullopt;
}

EmbedOptions ReadEmbedOptions(JsonReader& reader, const Call& call) {
  EmbedOptions options;
  options.dimension = ReadDimension(reader, call);
  if (const auto pooling = reader.String("pooling")) options.pooling = Take(PoolingNamed(*pooling), "pooling");
  options.normalise = reader.Bool("normalize");
  options.prompt_name = reader.String("prompt_name").value_or("");
  options.prompt = reader.String("prompt");
  options.long_text = ReadLongText(reader, "truncate");
  return options;
}

std::shared_ptr<EncoderWork> ReadEncoderWork(JsonReader& reader, std::string_view name, const Call& call,
                                             EmbedOptions options, OfTokens of_tokens) {
  const Encoder& encoder = call.encoder()->encoder();
  CheckEmbeds(call, options.pooling.value_or(encoder.facts().pooling), of_tokens);
  return WorkOf(ReadAllGiven(reader, name, encoder.model().spec().vocab_size), name, call, std::move(options));
}

std::shared_ptr<EncoderWork> WorkOfTexts(const std::vector<std::string>& texts, std::string_view name, const Call& call,
                                         EmbedOptions options) {
  CheckEmbeds(call, options.pooling.value_or(call.encoder()->encoder().facts().pooling), OfTokens::kRefuse);
  std::vector<GivenText> given;
  for (const std::string& text : texts) given.push_back({.text = text});
  return WorkOf(std::move(given), name, call, std::move(options));
}

bool IsOfTokens(const EncoderWork& work, const Call& call) {
  return work.embed.pooling.value_or(call.encoder()->encoder().facts().pooling) == Pooling::kNone;
}

uint64_t TokensOf(const EncoderWork& work) {
  uint64_t tokens = 0;
  for (const uint32_t count : work.num_tokens) tokens += count;
  for (size_t i = work.num_tokens.size(); i < work.texts.size(); ++i) tokens += work.texts[i].tokens.size();
  return tokens;
}

Json CutTexts(const EncoderWork& work) {
  Json cut = Json::array();
  for (size_t i = 0; i < work.num_tokens.size() && work.embed.long_text == LongText::kCut; ++i) {
    if (work.num_tokens[i] < work.texts[i].tokens.size()) cut.push_back(i);
  }
  return cut;
}

std::unique_ptr<Exchange> AnswerEncoderWork(const Call& call, std::shared_ptr<EncoderWork> work,
                                            std::function<Json(const EncoderWork&)> write,
                                            std::function<Json(const ApiError&)> write_error,
                                            const std::vector<std::string>& ignored) {
  call.StopIfAbandoned();
  auto counted = CountAnswers(call, work->size());
  const auto state = std::make_shared<WorkState>();
  work->is_abandoned = [state] { return state->is_abandoned.load(); };
  work->then = [state, wake = call.wake] {
    state->is_done = true;
    wake();
  };
  auto exchange = std::make_unique<EncoderExchange>(call, work, state, std::move(counted), std::move(write),
                                                    std::move(write_error), HeadersOfIgnored(ignored));
  if (!call.encoder()->Submit(call.tenant.name, work)) throw ApiError{503, "the server is shutting down"};
  return exchange;
}

}  // namespace skald::serve
