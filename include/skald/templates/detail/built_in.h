// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/built_in.h.

#ifndef SKALD_TEMPLATES_DETAIL_BUILT_IN_H_
#define SKALD_TEMPLATES_DETAIL_BUILT_IN_H_

#include "skald/templates/built_in.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

inline constexpr std::string_view kNoFormat = "none";

SKALD_INLINE const std::vector<BuiltInSource>& BuiltInSources() {
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

SKALD_INLINE std::vector<std::string> BuiltInTemplateNames() {
  std::vector<std::string> names;
  for (const internal::BuiltInSource& source : internal::BuiltInSources()) names.emplace_back(source.name);
  return names;
}

SKALD_INLINE Result<ChatTemplate> BuiltInTemplate(std::string_view name) {
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

#endif  // SKALD_TEMPLATES_DETAIL_BUILT_IN_H_
