// SPDX-License-Identifier: Apache-2.0

#include "texts/text_output.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

using Json = nlohmann::ordered_json;

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndToken:
    case FinishReason::kStopString:
    case FinishReason::kFilter:
    case FinishReason::kEmbedding:
      return "stop";
    case FinishReason::kMaxTokens:
      return "length";
    case FinishReason::kCancelled:
    case FinishReason::kDeadline:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "";
}

Json JsonOf(const SampledToken& token, const Tokenizer* tokenizer) {
  const auto piece = [tokenizer](int32_t id) {
    return tokenizer == nullptr ? Json() : Json(std::string(tokenizer->IdToPiece(id).value_or("")));
  };
  Json json = {{"id", token.id}, {"piece", piece(token.id)}};
  if (!token.logprob) return json;
  json["logprob"] = *token.logprob;
  json["top"] = Json::array();
  for (const TokenLogprob& top : token.top_logprobs) {
    json["top"].push_back({{"id", top.id}, {"piece", piece(top.id)}, {"logprob", top.logprob}});
  }
  return json;
}

}  // namespace

bool TextOutput::Take(const Event& event) {
  const size_t number = static_cast<size_t>(event.request) * form_.samples + event.sample;
  ToldText& told = texts_[number];
  told.text += event.text;
  told.tokens.insert(told.tokens.end(), event.tokens.begin(), event.tokens.end());
  if (!event.embedding.empty()) told.embedding = event.embedding;
  told.last = event;
  bool is_written = true;
  if (number == current_ && !form_.json) is_written = PrintNew(number, event.text, event.tokens);
  // Those after it may be at their ends already.
  while (is_written && texts_.contains(current_) && texts_[current_].last.finish) {
    is_written = PrintEnd(current_);
    const auto next = texts_.find(++current_);
    begun_ = false;
    if (is_written && next != texts_.end() && !form_.json) {
      is_written = PrintNew(current_, next->second.text, next->second.tokens);
    }
  }
  return is_written;
}

bool TextOutput::PrintNew(size_t number, const std::string& text, const std::vector<SampledToken>& tokens) {
  const size_t request = number / form_.samples;
  std::string more;
  if (tokenizer() != nullptr) {
    if (!begun_ && task_.echo) more = task_.prompts[request];
    more += text;
  } else {
    std::vector<int32_t> ids;
    if (!begun_ && task_.echo) ids = task_.ids[request];
    for (const SampledToken& token : tokens) ids.push_back(token.id);
    for (const int32_t id : ids) {
      if (begun_) more += ',';
      more += std::to_string(id);
      begun_ = true;
    }
  }
  begun_ |= !more.empty();
  return more.empty() || PrintText(more);
}

bool TextOutput::PrintEnd(size_t number) { return PrintText(form_.json ? JsonLine(number) + "\n" : "\n"); }

std::string TextOutput::JsonLine(size_t number) const {
  const ToldText& told = texts_.at(number);
  const size_t request = number / form_.samples;
  Json line = {{"prompt", request}, {"sample", number % form_.samples}};
  if (!told.embedding.empty()) {
    line["embedding"] = told.embedding;
  } else {
    line["text"] = tokenizer() == nullptr ? Json() : Json(told.text);
    line["tokens"] = Json::array();
    for (const SampledToken& token : told.tokens) line["tokens"].push_back(JsonOf(token, tokenizer()));
    line["finish"] = NameOf(*told.last.finish);
    line["seed"] = form_.seed;
  }
  if (told.last.error) line["error"] = told.last.error->message;
  line["prompt_tokens"] = told.last.usage.prompt_tokens;
  line["generated_tokens"] = told.last.usage.generated_tokens;
  return line.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace skald::program
