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

#ifndef SKALD_TEXT_TEMPLATES_BUILT_IN_H_
#define SKALD_TEXT_TEMPLATES_BUILT_IN_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/text/templates/chat_template.h"

namespace skald {
namespace internal {

// What all have in common: the system message apart from the turns, in an order that the formats can express.
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

inline constexpr std::string_view kNoFormat = "none";

struct BuiltInSource {
  std::string_view name, source;
  std::vector<std::string> pieces, marks, stops;
};

inline const std::vector<BuiltInSource>& BuiltInSources() {
  static const std::vector<BuiltInSource> sources = {
      {kNoFormat,
       "{{ raise_exception('without a format there is no place for a system message') if system }}"
       "{{ bos_token }}{% for turn in turns %}{{ turn.content }}{% endfor %}",
       {},
       {},
       {}},
      {"gemma",
       "{{ bos_token }}{% for turn in turns %}"
       "{% set content = system + '\\n\\n' + turn.content if system and loop.first else turn.content %}"
       "{{ '<start_of_turn>' + ('user' if turn.role == 'user' else 'model') + '\\n' }}"
       "{{ (content | trim) + '<end_of_turn>\\n' }}{% endfor %}"
       "{{ '<start_of_turn>model\\n' if add_generation_prompt }}",
       {"BOS", "<start_of_turn>", "<end_of_turn>"},
       {},
       {"<end_of_turn>"}},
      {"llama2",
       "{% for turn in turns %}{% if turn.role == 'user' %}"
       "{% set begin = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' if system and loop.first else '' %}"
       "{{ bos_token + '[INST] ' + ((begin + turn.content) | trim) + ' [/INST]' }}"
       "{% else %}{{ ' ' + (turn.content | trim) + ' ' + eos_token }}{% endif %}{% endfor %}",
       {"BOS", "EOS"},
       {"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"},
       {}},
      // The space before an answer is the one that the tokenizer puts before a text of its own.
      {"mistral",
       "{{ bos_token }}{% for turn in turns %}{% if turn.role == 'user' %}"
       "{{ '[INST] ' + (system + '\\n\\n' if system and loop.first else '') + turn.content + ' [/INST]' }}"
       "{% else %}{{ ' ' + turn.content + eos_token }}{% endif %}{% endfor %}",
       {"BOS", "EOS"},
       {"[INST]", "[/INST]"},
       {}},
      {"mistral-v3",
       "{{ bos_token }}{% for turn in turns %}{% if turn.role == 'user' %}"
       "{{ '[INST]' + (system + '\\n\\n' if system and loop.first else '') + turn.content + '[/INST]' }}"
       "{% else %}{{ turn.content + eos_token }}{% endif %}{% endfor %}",
       {"BOS", "EOS", "[INST]", "[/INST]"},
       {},
       {}},
      {"zephyr",
       "{{ bos_token }}{{ '<|system|>\\n' + system + eos_token + '\\n' if system }}"
       "{% for turn in turns %}{{ '<|' + turn.role + '|>\\n' + turn.content + eos_token + '\\n' }}{% endfor %}"
       "{{ '<|assistant|>\\n' if add_generation_prompt }}",
       {"BOS", "EOS"},
       {"<|system|>", "<|user|>", "<|assistant|>"},
       {}},
      {"rwkv-world",
       "{{ 'System: ' + (system | trim) + '\\n\\n' if system }}{% for turn in turns %}"
       "{{ ('User: ' if turn.role == 'user' else 'Assistant: ') + (turn.content | trim) + '\\n\\n' }}{% endfor %}"
       "{{ 'Assistant:' if add_generation_prompt }}",
       {},
       {"\n\nSystem:", "\n\nUser:", "\n\nAssistant:"},
       {}},
  };
  return sources;
}

}  // namespace internal

// The names that BuiltInTemplate takes.
inline std::vector<std::string> BuiltInTemplateNames() {
  std::vector<std::string> names;
  for (const internal::BuiltInSource& source : internal::BuiltInSources()) names.emplace_back(source.name);
  return names;
}

// Returns the template of that name. The error lists all names.
inline Result<ChatTemplate> BuiltInTemplate(std::string_view name) {
  return NoThrow("the chat template", [&]() -> Result<ChatTemplate> {
    std::string known;
    for (const internal::BuiltInSource& source : internal::BuiltInSources()) {
      if (name == source.name) {
        ChatTemplateParts parts;
        parts.name = Concat({"chat template ", name});
        parts.only_continues = name == internal::kNoFormat;
        parts.marks = source.marks;
        parts.pieces = source.pieces;
        parts.stops = source.stops;
        return ChatTemplate::Make(Concat({internal::kTurns, source.source}), std::move(parts));
      }
      known.append(known.empty() ? "" : ", ").append(source.name);
    }
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"there is no chat template \"", name, "\", expected one of: ", known}));
  });
}

}  // namespace skald

#endif  // SKALD_TEXT_TEMPLATES_BUILT_IN_H_
