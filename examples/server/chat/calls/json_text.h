// SPDX-License-Identifier: Apache-2.0
//
// JSON within the text of an answer: where a value ends, and its parts, as text. Nothing recurses here. Values stay
// text because the model's own digits are the arguments of its calls: a number of 30 digits must not become a double.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_CALLS_JSON_TEXT_H_
#define SKALD_EXAMPLES_SERVER_CHAT_CALLS_JSON_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::serve {

// Arrays and objects inside each other. What nests deeper is no JSON here, and so no call: it stays text.
inline constexpr size_t kMostAnswerNesting = 1024;

// Finds the end of an object, an array or a string in a text that comes in pieces. It knows strings and brackets and
// not all of JSON: what it calls whole may still be wrong, but nothing that is JSON ends elsewhere.
class JsonScanner {
 public:
  enum class State { kOpen, kWhole, kWrong };

  // Takes what is new, up to the end of the value, and returns how many bytes of `text` that was. White space may come
  // before the value.
  size_t Push(std::string_view text);

  State state() const { return state_; }

 private:
  void Take(char c);
  void TakeInString(char c);
  void Close(char bracket);

  State state_ = State::kOpen;
  std::string open_;  // the brackets that are still to come, the next one last
  bool in_string_ = false, is_escaped_ = false;
};

// Whether the text is one value of JSON.
bool IsJson(std::string_view text);

// The same value without the white space between its parts. `json` must be JSON.
std::string WithoutSpace(std::string_view json);

// A text as a string of JSON.
std::string QuotedJson(std::string_view text);
// What a string of JSON stands for; nothing where it is another value.
std::optional<std::string> UnquotedJson(std::string_view json);

// The members of an object, in order: names as they read, values as text without white space around them. Nothing where
// the text is no JSON, or another value.
std::optional<std::vector<std::pair<std::string, std::string_view>>> MembersOf(std::string_view json);
// The same of the items of an array.
std::optional<std::vector<std::string_view>> ItemsOf(std::string_view json);

// The text without white space at its ends.
std::string_view Trimmed(std::string_view text);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_CALLS_JSON_TEXT_H_
