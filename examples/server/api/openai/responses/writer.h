// SPDX-License-Identifier: Apache-2.0
//
// ResponseWriter: one response of OpenAI's Responses API as JSON, its items and the whole.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_WRITER_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_WRITER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/chat/tool_reading.h"
#include "server/api/request/json_reader.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald::serve {

// The parts of a request that its response repeats, and the response's own facts.
struct ResponseForm {
  std::string id = {}, model = {};
  int64_t created = 0;
  Json echo = Json::object();
  std::map<std::string, ToolPlace> places = {};                 // of tools in namespaces, by the names in calls
  std::shared_ptr<const TokenVocabulary> vocabulary = nullptr;  // null: no log-probabilities
  std::vector<std::string> ignored = {};                        // fields of the request
};

// The id of an item tells of which response it is, so that a reference to it is found: KIND_RESPONSE_PLACE. The place
// of a call is its number among the calls, that of others the number of items before.
std::string ItemIdOf(const char* kind, const std::string& response, size_t place);

class ResponseWriter {
 public:
  explicit ResponseWriter(ResponseForm form) : form_(std::move(form)) {}

  const ResponseForm& form() const { return form_; }
  size_t size() const { return items_.size(); }  // of the items so far

  // The ids of the next item, of text or thought, and of a call.
  std::string TextId(bool is_text) const { return ItemIdOf(is_text ? "msg" : "rs", form_.id, items_.size()); }
  std::string CallId(size_t number) const { return ItemIdOf("fc", form_.id, number); }

  // An item of text, or of thought, that is the next one.
  Json TextItem(bool is_text, const std::string& text, const Json& logprobs, const char* status) const;
  // Its content.
  static Json Part(bool is_text, const std::string& text, const Json& logprobs);
  // `number` is its place among the calls.
  Json CallItem(const Choice::ToolCall& call, size_t number, const char* status) const;
  void Add(Json item) { items_.push_back(std::move(item)); }

  // The response as it begins.
  Json Begin() const { return Response("in_progress"); }
  // The response at its end. It has the items that were added; if there are none, or the answer broke off, those of the
  // choice, as far as they came.
  Json End(const std::vector<Choice>& choices);

  // Of the last item of a choice.
  static const char* StatusOf(const Choice& choice);

 private:
  Json Response(const char* status) const;
  void AddItemsOf(const Choice& choice);

  const ResponseForm form_;
  Json items_ = Json::array();
  std::optional<int64_t> completed_;  // Unix seconds
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_WRITER_H_
