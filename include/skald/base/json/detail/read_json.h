// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/json/read_json.h.

#ifndef SKALD_BASE_JSON_DETAIL_READ_JSON_H_
#define SKALD_BASE_JSON_DETAIL_READ_JSON_H_

#include "skald/base/json/read_json.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

// Passes events on while the limits hold.
class LimitedJsonEvents final : public JsonEvents {
 public:
  using Json = nlohmann::json;

  LimitedJsonEvents(JsonEvents& events, const JsonLimits& limits) : events_(events), limits_(limits) {}

  // A sentence fragment about the text; empty if there is no error.
  const std::string& complaint() const { return complaint_; }

  bool start_object(size_t elements) override { return Open() && events_.start_object(elements); }
  bool start_array(size_t elements) override { return Open() && events_.start_array(elements); }
  bool end_object() override { return Close() && events_.end_object(); }
  bool end_array() override { return Close() && events_.end_array(); }
  bool key(std::string& name) override {
    if (++names_.back() > limits_.names) {
      return Complain({"has an object of more than ", std::to_string(limits_.names), " names"});
    }
    return Count() && events_.key(name);
  }
  bool null() override { return Count() && events_.null(); }
  bool boolean(bool value) override { return Count() && events_.boolean(value); }
  bool number_integer(Json::number_integer_t value) override { return Count() && events_.number_integer(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return Count() && events_.number_unsigned(value); }
  bool number_float(Json::number_float_t value, const std::string& text) override {
    return Count() && events_.number_float(value, text);
  }
  bool string(std::string& value) override { return Count() && events_.string(value); }
  bool binary(Json::binary_t&) override { return false; }
  bool parse_error(size_t at, const std::string&, const Json::exception&) override {
    return Complain({"is not valid JSON from byte ", std::to_string(at), " on"});
  }

 private:
  bool Complain(std::initializer_list<std::string_view> words) {
    complaint_ = Concat(words);
    return false;
  }
  bool Count() {
    if (++values_ <= limits_.values) return true;
    return Complain({"has more than ", std::to_string(limits_.values), " values"});
  }
  bool Open() {
    if (names_.size() == limits_.depth) {
      return Complain({"is nested deeper than ", std::to_string(limits_.depth), " levels"});
    }
    names_.push_back(0);
    return Count();
  }
  bool Close() {
    names_.pop_back();
    return true;
  }

  JsonEvents& events_;
  const JsonLimits limits_;
  size_t values_ = 0;
  std::vector<size_t> names_;  // so far in the object or array at each depth
  std::string complaint_;
};

SKALD_INLINE bool ReadJson(std::string_view text, JsonEvents& events, std::string& complaint,
                           const JsonLimits& limits) {
  complaint.clear();
  if (text.size() > limits.bytes) {
    complaint = Concat({"is larger than ", std::to_string(limits.bytes), " bytes"});
    return false;
  }
  LimitedJsonEvents limited(events, limits);
  auto adapter = nlohmann::detail::input_adapter(text.begin(), text.end());
  using Parser = nlohmann::detail::parser<nlohmann::json, decltype(adapter)>;
  const bool is_whole = Parser(std::move(adapter)).sax_parse(&limited);  // NOLINT: it takes no other
  if (!is_whole) complaint = limited.complaint();
  return is_whole;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_JSON_DETAIL_READ_JSON_H_
