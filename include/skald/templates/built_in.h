// SPDX-License-Identifier: Apache-2.0
//
// Chat templates for models that publish none, by name. The formats are those of
//   none        a text to be continued
//   gemma       google/gemma-2-2b-it (Gemma 1 and 3 alike)
//   llama2      meta-llama/Llama-2-7b-chat-hf; chat_completion in Meta's llama/generation.py
//   mistral     mistralai/Mistral-7B-Instruct-v0.1 and v0.2: tokenizer V1 of mistral-common
//   mistral-v3  mistralai/Mistral-7B-Instruct-v0.3: tokenizer V3 of mistral-common
//   zephyr      TinyLlama/TinyLlama-1.1B-Chat-v1.0
//   rwkv-world  RWKV's World models, as llama.cpp has it; an empty line ends a turn
// They take an optional system message, then user and assistant in turns. Gemma and Mistral have no place for a system
// message, so it starts the first user message, before an empty line. Pure; safe for concurrent calls.

#ifndef SKALD_TEMPLATES_BUILT_IN_H_
#define SKALD_TEMPLATES_BUILT_IN_H_

#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/templates/chat_template.h"

namespace skald {
namespace internal {

/// Common to all: the system message apart from the turns, in an order that the formats can express.
inline constexpr std::string_view kTurns = R"(
{%- set system = messages[0].content if messages and messages[0].role == 'system' else '' -%}
{%- set turns = messages[1:] if messages and messages[0].role == 'system' else messages -%}
{%- for turn in turns -%}
  {%- if turn.role == 'system' -%}{{ raise_exception('a system message can only come first') }}{%- endif -%}
  {%- if turn.role != ('user' if loop.index0 % 2 == 0 else 'assistant') -%}
    {{ raise_exception('user and assistant must take turns, starting with the user') }}
  {%- endif -%}
{%- endfor -%}
{%- if not turns or (add_generation_prompt and turns | length % 2 == 0) -%}
  {{ raise_exception('the last message must be from the user, to be answered') }}
{%- endif -%}
)";

struct BuiltInSource {
  std::string_view name, source;
  std::vector<std::string> pieces, marks, stops;
};

const std::vector<BuiltInSource>& BuiltInSources();

}  // namespace internal

/// The names that BuiltInTemplate takes.
std::vector<std::string> BuiltInTemplateNames();

/// Returns the template of that name. The error lists all names.
Result<ChatTemplate> BuiltInTemplate(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/templates/detail/built_in.h"
#endif

#endif  // SKALD_TEMPLATES_BUILT_IN_H_
