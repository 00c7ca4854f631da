// SPDX-License-Identifier: Apache-2.0
//
// Where the last message of a rendered chat ends, so that the model goes on with it and does not begin another one.
// Pure functions.

#ifndef SKALD_OPEN_DETAIL_FINAL_MESSAGE_H_
#define SKALD_OPEN_DETAIL_FINAL_MESSAGE_H_

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"

namespace skald::internal {

// Returns the rendering of `messages` up to the end of the last one's content, without the template's text after it.
// Many templates take white space off a content's ends; then so much of it is missing. Errors: there is no content, or
// the template does not write it as it is.
inline Result<MarkedText> UpToFinalMessage(const MarkedText& rendered, const nlohmann::ordered_json& messages) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto refuse = [](const char* what) { return Fail(ErrorCode::kInvalidArgument, what); };
  if (!messages.is_array() || messages.empty()) return refuse("there is no message to go on with");
  const auto content = messages.back().find("content");
  if (content == messages.back().end() || !content->is_string()) return refuse("the last message has no text");
  const std::string_view whole = content->get_ref<const std::string&>();
  const size_t begin = whole.find_first_not_of(kSpace);
  if (begin == whole.npos) return refuse("the last message has no text that could go on");
  const std::string_view left = whole.substr(begin);
  const std::string_view both = left.substr(0, left.find_last_not_of(kSpace) + 1);
  const std::string_view text = rendered.text();
  const auto is_message = [&](size_t at) {
    for (size_t i = at; i < at + both.size(); ++i) {
      if (rendered.AuthorAt(i) != Author::kMessage) return false;
    }
    return true;
  };
  size_t at = text.rfind(both);
  while (at != text.npos && !is_message(at)) at = at == 0 ? text.npos : text.rfind(both, at - 1);
  if (at == text.npos) return refuse("the chat template does not write the last message as it is");
  const bool is_whole = text.substr(at).starts_with(left);
  return rendered.Substr(0, at + (is_whole ? left : both).size());
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_FINAL_MESSAGE_H_
