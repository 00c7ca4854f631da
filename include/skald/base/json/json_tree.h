// SPDX-License-Identifier: Apache-2.0
//
// JSON values where memory may run out. nlohmann::json's destructor lists what a value holds, for which it needs
// memory; where there is none it ends the program. So values are built under the eyes of a JsonGuard, which takes them
// apart from the leaves on, and without temporary values that hold others: never from initializer lists. Nor does a
// null become an object or an array by itself: it would be half of one where there is no memory for the other half.

#ifndef SKALD_BASE_JSON_JSON_TREE_H_
#define SKALD_BASE_JSON_JSON_TREE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace skald::internal {

// Deeper than any text that is read here goes.
inline constexpr size_t kMaxJsonTreeDepth = 100;

// Empties a value without asking for memory.
inline void Dismantle(nlohmann::json& value) noexcept {
  if (!value.is_structured()) return;
  for (nlohmann::json& part : value) Dismantle(part);
  value.clear();
}

// Dismantles a value before it goes: declare it right behind the value.
class JsonGuard {
 public:
  explicit JsonGuard(nlohmann::json& value) : value_(value) {}
  JsonGuard(const JsonGuard&) = delete;
  JsonGuard& operator=(const JsonGuard&) = delete;
  ~JsonGuard() { Dismantle(value_); }

 private:
  nlohmann::json& value_;
};

// Told of each part of a text while it is read.
using JsonEvents = nlohmann::json_sax<nlohmann::json>;

// Reads `text` to its end, or until `events` returns false or it is no JSON. Returns whether it was read to the end.
// It is json::sax_parse without the readers of five binary formats that come along there, 90 KB of code in every
// program, and needs two names of nlohmann's that are not public.
inline bool ReadJson(std::string_view text, JsonEvents& events) {
  auto adapter = nlohmann::detail::input_adapter(text.begin(), text.end());
  using Parser = nlohmann::detail::parser<nlohmann::json, decltype(adapter)>;
  return Parser(std::move(adapter)).sax_parse(&events);  // NOLINT: it takes no other
}

// Builds a value from the parts of a text, in place.
class JsonBuilder final : public JsonEvents {
 public:
  using Json = nlohmann::json;

  explicit JsonBuilder(Json& root) : next_(&root) {}

  bool start_object(size_t /*elements*/) override { return Open(Json::value_t::object); }
  bool start_array(size_t /*elements*/) override { return Open(Json::value_t::array); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    next_ = &(*open_.back())[name];
    Dismantle(*next_);  // of two values of a name the last one counts
    return true;
  }
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(Json::number_integer_t value) override { return Add(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return Add(value); }
  bool number_float(Json::number_float_t value, const std::string&) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  // Where the next value goes: behind its name, or at the end of an array.
  Json& Place() {
    if (next_ != nullptr) return *std::exchange(next_, nullptr);
    return open_.back()->emplace_back(nullptr);
  }
  template <class Value>
  bool Add(Value&& value) {
    Place() = std::forward<Value>(value);
    return true;
  }
  bool Open(Json::value_t type) {
    if (open_.size() == kMaxJsonTreeDepth) return false;
    Json& place = Place();
    place = type;
    open_.push_back(&place);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json* next_;               // null in an array
  std::vector<Json*> open_;  // objects and arrays that have not ended, the outermost first
};

// Parses `text` into `root`, which its caller guards. Returns false where it is no JSON, or too deep.
inline bool ParseJson(std::string_view text, nlohmann::json& root) {
  JsonBuilder builder(root);
  return ReadJson(text, builder);
}

}  // namespace skald::internal

#endif  // SKALD_BASE_JSON_JSON_TREE_H_
