// SPDX-License-Identifier: Apache-2.0
//
// Chats as prompts of requests, so that the state which was computed for their beginnings is found again. Safe for
// concurrent calls.

#ifndef SKALD_SERVING_CHAT_PROMPT_H_
#define SKALD_SERVING_CHAT_PROMPT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/layout/layout.h"
#include "skald/open/chat.h"
#include "skald/open/model_text.h"
#include "skald/serving/transcripts.h"

namespace skald {

/// Returns the ids of a whole chat. An earlier answer that `transcripts` knows under `salt` has the ids that the model
/// wrote it with, so that the cache of that turn is used. Errors: those of EncodeChat.
Result<std::vector<int32_t>> EncodePrompt(const ModelText& text, const Chat& chat, Transcripts& transcripts,
                                          const std::string& salt);

/// Returns Request::branch_points of a chat with these ids: the ends of the system's message and of the messages before
/// the last one. Each of these beginnings is rendered alone, and counts as far as the prompt begins with its ids; one
/// that the template refuses is left out. Empty for models whose caches go back anywhere, as `layout` tells.
std::vector<uint32_t> BranchPointsOf(const ModelText& text, const CacheLayout& layout, const Chat& chat,
                                     std::span<const int32_t> prompt);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/serving/detail/chat_prompt.h"
#endif

#endif  // SKALD_SERVING_CHAT_PROMPT_H_
