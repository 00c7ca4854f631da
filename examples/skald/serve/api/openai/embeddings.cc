// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: platform.openai.com/docs/api-reference/embeddings. The vector of a text is the hidden state behind the
// final norm, of its last token or the mean over all, normalised to length 1.

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "serve/api/endpoints.h"
#include "serve/api/openai/form.h"
#include "serve/api/request/sampling.h"

namespace skald::serve {
namespace {

// Base64 (RFC 4648) of bytes, as OpenAI's clients ask for it.
std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// Collects the answers of several texts, which the engine computes side by side.
class EmbeddingExchange final : public Exchange {
 public:
  struct Form {
    std::string model;
    size_t dimensions;  // 0: all
    bool is_base64;
  };

  EmbeddingExchange(const Call& call, std::vector<EngineLoop::Ticket> tickets, Form form, OpenRequest open)
      : service_(call.service), tickets_(std::move(tickets)), form_(std::move(form)), open_(std::move(open)) {
    vectors_.resize(tickets_.size());
  }
  ~EmbeddingExchange() override {
    for (const EngineLoop::Ticket& ticket : tickets_) service_->Cancel(ticket.number);
  }

  HttpPiece Next() override {
    bool is_whole = true;
    for (size_t i = 0; i < tickets_.size(); ++i) {
      while (auto event = tickets_[i].inbox->Next(std::chrono::milliseconds(0))) {
        if (event->error) return Refuse(ApiErrorOf(*event->error));
        if (!event->embedding.empty()) vectors_[i] = std::move(event->embedding);
        if (event->finish) tokens_ += event->usage.prompt_tokens;
      }
      if (!tickets_[i].inbox->is_finished()) {
        is_whole = false;
      } else if (vectors_[i].empty()) {
        return Refuse({503, "the server is shutting down"});
      }
    }
    if (!is_whole) return {};
    return {HttpHead{}, Dump(Whole()), true};
  }

 private:
  static HttpPiece Refuse(const ApiError& error) {
    return {HttpHead{error.status}, Dump(OpenAiErrorJson(error)), true};
  }

  Json Whole() {
    Json data = Json::array();
    for (size_t i = 0; i < vectors_.size(); ++i) {
      data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", Written(vectors_[i])}});
    }
    return {{"object", "list"},
            {"data", std::move(data)},
            {"model", form_.model},
            {"usage", {{"prompt_tokens", tokens_}, {"total_tokens", tokens_}}}};
  }

  Json Written(std::vector<float>& vector) const {
    if (form_.dimensions > 0) vector.resize(form_.dimensions);
    double sum = 0.0;
    for (const float value : vector) sum += static_cast<double>(value) * value;
    const double length = std::sqrt(sum);
    for (float& value : vector) value = static_cast<float>(length > 0.0 ? value / length : 0.0);
    if (!form_.is_base64) return vector;
    return Base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
  }

  const std::shared_ptr<Service> service_;
  const std::vector<EngineLoop::Ticket> tickets_;
  const Form form_;
  const OpenRequest open_;
  std::vector<std::vector<float>> vectors_;
  uint64_t tokens_ = 0;
};

std::vector<int32_t> IdsOf(const Call& call, JsonReader& reader, const Json& input) {
  const ServedModel& model = call.service->model();
  if (input.is_string() && !input.get_ref<const std::string&>().empty()) {
    return Take(model.tokenizer.Encode(input.get<std::string>(), ParseSpecial::kNo, AddSpecial::kYes), "input");
  }
  std::vector<int32_t> ids;
  if (input.is_array()) {
    for (const Json& id : input) {
      const bool is_id =
          id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < model.model.vocab_size();
      if (!is_id) reader.Fail("input", "texts, or lists of ids of tokens");
      ids.push_back(id.get<int32_t>());
    }
  }
  if (ids.empty()) reader.Fail("input", "texts that are not empty, or lists of ids of tokens");
  return ids;
}

}  // namespace

Answer Embeddings(const Call& call) {
  constexpr size_t kMostInputs = 2048;
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  ReadModelName(reader, call);
  const Json* const input = reader.Any("input");
  if (input == nullptr) reader.Fail("input", "a text, or a list of texts");
  const bool is_list = input->is_array() && !input->empty() && !(*input)[0].is_number();
  if (is_list && input->size() > kMostInputs) reader.Fail("input", "at most " + std::to_string(kMostInputs) + " texts");
  const auto pooling = reader.OneOf("pooling", {"last", "mean"}).value_or("last");
  const auto dimensions = reader.Integer("dimensions", 1, call.service->model().embedding_size);
  const auto format = reader.OneOf("encoding_format", {"float", "base64"}).value_or("float");
  reader.Ignore({"user"});
  reader.Finish();
  std::vector<Request> requests;
  for (size_t i = 0; i < (is_list ? input->size() : 1); ++i) {
    Request request;
    request.prompt = IdsOf(call, reader, is_list ? (*input)[i] : *input);
    request.embedding = pooling == "mean" ? Pooling::kMean : Pooling::kLast;
    request.tenant = call.tenant.name;
    requests.push_back(std::move(request));
  }
  std::vector<EngineLoop::Ticket> tickets;
  for (Request& request : requests) {
    auto ticket = call.service->Submit(std::move(request), call.wake);
    if (!ticket) {
      for (const EngineLoop::Ticket& other : tickets) call.service->Cancel(other.number);
      throw ApiErrorOf(ticket.error());
    }
    tickets.push_back(*std::move(ticket));
  }
  return std::make_unique<EmbeddingExchange>(
      call, std::move(tickets),
      EmbeddingExchange::Form{call.service->model().name, static_cast<size_t>(dimensions.value_or(0)),
                              format == "base64"},
      OpenRequest(call.tenant));
}

}  // namespace skald::serve
