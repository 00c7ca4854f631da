// SPDX-License-Identifier: Apache-2.0
//
// Thoughts of messages where chat templates look for them. Messages have them as "reasoning_content", which most
// templates read; others have another name, or a block of the content.

#ifndef SKALD_OPEN_TOOLS_DETAIL_ADAPTED_THOUGHTS_H_
#define SKALD_OPEN_TOOLS_DETAIL_ADAPTED_THOUGHTS_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/open/tools/detail/tool_text.h"

namespace skald::internal::calls {

enum class ThoughtPlace {
  kHere,       // where messages have them, or the template reads none
  kThinking,   // a member "thinking": gpt-oss, LFM2.5
  kReasoning,  // a member "reasoning": Solar
  kBlock,      // a block of the content: Ministral
};

inline ThoughtPlace ThoughtPlaceOf(std::string_view template_source) {
  const auto has = [&](std::string_view text) { return template_source.find(text) != template_source.npos; };
  if (has("reasoning_content")) return ThoughtPlace::kHere;
  if (has("message.thinking")) return ThoughtPlace::kThinking;
  if (has("message.reasoning")) return ThoughtPlace::kReasoning;
  return has("['type'] == 'thinking'") ? ThoughtPlace::kBlock : ThoughtPlace::kHere;
}

inline bool HasThought(const Json& message) {
  return message.is_object() && message.contains("reasoning_content") && message["reasoning_content"].is_string() &&
         message["reasoning_content"] != "";
}

inline bool HaveThoughts(const Json& messages) {
  return messages.is_array() && std::ranges::any_of(messages, HasThought);
}

inline void MoveThought(ThoughtPlace place, Json& message) {
  Json thought = std::move(message["reasoning_content"]);
  message.erase("reasoning_content");
  const bool has_text = HasText(message) && message["content"] != "";
  if (place == ThoughtPlace::kReasoning) {
    message["reasoning"] = std::move(thought);
  } else if (place == ThoughtPlace::kThinking) {
    // Beside calls gpt-oss takes one of the two.
    if (!has_text || !message.contains("tool_calls")) message["thinking"] = std::move(thought);
  } else if (!message.contains("content") || message["content"].is_string() || message["content"].is_null()) {
    Json blocks = Json::array({{{"type", "thinking"}, {"thinking", std::move(thought)}}});
    if (has_text) blocks.push_back({{"type", "text"}, {"text", message["content"]}});
    message["content"] = std::move(blocks);
  }
}

inline void MoveThoughts(ThoughtPlace place, Json& messages) {
  for (Json& message : messages) {
    if (HasThought(message)) MoveThought(place, message);
  }
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_ADAPTED_THOUGHTS_H_
