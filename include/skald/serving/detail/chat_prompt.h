// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/serving/chat_prompt.h.

#ifndef SKALD_SERVING_DETAIL_CHAT_PROMPT_H_
#define SKALD_SERVING_DETAIL_CHAT_PROMPT_H_

#include "skald/serving/chat_prompt.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

// The chat up to one of its messages.
inline Chat BeginningOf(const Chat& chat, size_t messages) {
  Chat beginning = chat;
  auto& list = TreeOf(beginning.messages);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(messages), list.end());
  beginning.add_generation_prompt = false;
  beginning.continue_final_message = false;
  return beginning;
}

inline bool BeginsWithSystem(const nlohmann::ordered_json& messages) {
  if (!messages[0].is_object()) return false;
  const auto role = messages[0].find("role");
  return role != messages[0].end() && *role == "system";
}

inline Result<std::vector<uint32_t>> FindBranchPoints(const ModelText& text, const Chat& chat,
                                                      std::span<const int32_t> prompt) {
  std::vector<uint32_t> points;
  const auto& messages = TreeOf(chat.messages);
  if (!messages.is_array() || messages.size() < 2) return points;
  for (const size_t count : {size_t{1}, messages.size() - 1}) {
    if (count == 1 && !BeginsWithSystem(messages)) continue;
    const auto ids = EncodeChat(text.tokenizer, text.chat_template, BeginningOf(chat, count));
    if (!ids) continue;
    const auto common = static_cast<size_t>(std::ranges::mismatch(*ids, prompt).in1 - ids->begin());
    if (common > 0 && common < prompt.size()) points.push_back(static_cast<uint32_t>(common));
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

}  // namespace internal

SKALD_INLINE Result<std::vector<int32_t>> EncodePrompt(const ModelText& text, const Chat& chat,
                                                       Transcripts& transcripts, const std::string& salt) {
  return NoThrow("the chat", [&]() -> Result<std::vector<int32_t>> {
    std::vector<int32_t> prompt = transcripts.Recall(chat.messages, salt);
    if (prompt.empty()) return EncodeChat(text.tokenizer, text.chat_template, chat);
    SKALD_ASSIGN(const NextTurn next, EncodeNextTurn(text.tokenizer, text.chat_template, chat, prompt));
    prompt.resize(next.keep);
    prompt.insert(prompt.end(), next.ids.begin(), next.ids.end());
    return prompt;
  });
}

SKALD_INLINE std::vector<uint32_t> BranchPointsOf(const ModelText& text, const CacheLayout& layout, const Chat& chat,
                                                  std::span<const int32_t> prompt) {
  const auto goes_back_anywhere = [](const CacheGroup& group) { return !group.is_recurrent() && group.window == 0; };
  if (std::ranges::all_of(layout.groups(), goes_back_anywhere)) return {};
  // Without memory there are none: they only save work.
  return NoThrow("the chat", [&] { return internal::FindBranchPoints(text, chat, prompt); })
      .value_or(std::vector<uint32_t>());
}

}  // namespace skald

#endif  // SKALD_SERVING_DETAIL_CHAT_PROMPT_H_
