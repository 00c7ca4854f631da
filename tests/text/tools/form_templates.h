// SPDX-License-Identifier: Apache-2.0
//
// A chat template for each form of tool calls, which writes an assistant's calls as the publishers' templates do, and
// the rest as short as it can be. <BEGIN> and <END> are around the assistant's part.

#ifndef SKALD_TESTS_TEXT_TOOLS_FORM_TEMPLATES_H_
#define SKALD_TESTS_TEXT_TOOLS_FORM_TEMPLATES_H_

#include <string>
#include <string_view>
#include <vector>

#include "skald/open/tools/output_format.h"

namespace skald::testing {

// Which texts a form can write.
enum class Texts {
  kAny,
  kUntagged,  // without the tags of arguments
  kGemma,     // without the mark that ends texts; keys are words
  kAsIs,      // without what ends a text that is as it is; others as kPython
  kPython,    // without quotes, backslashes and control characters, as the template does not escape them
};

struct FormTemplate {
  ToolForm form;
  Texts texts;
  std::string calls;                 // of a message m
  std::string_view other = "";       // something that the template has besides, by which it is known
  bool begins_in_prompt = false;     // the mark of calls is the prompt's
  bool is_one = false;               // an answer has one call
  std::string_view text_begin = "";  // before an assistant's text, after <BEGIN>
};

// DeepSeek's calls between marks of this name.
inline std::string DsmlCalls(const std::string& name) {
  const std::string dsml = "\uFF5CDSML\uFF5C", open = "{{ '<" + dsml, close = "</" + dsml;
  return "{% if m.tool_calls %}" + open + name + ">\\n' }}{% for c in m.tool_calls %}" + open +
         "invoke name=\"' + c.function.name + '\">\\n' }}{% for key, value in c.function.arguments.items() %}" + open +
         "parameter name=\"' + key + '\" string=\"' + ('true' if value is string else 'false') + '\">' }}"
         "{{ value if value is string else value | tojson }}{{ '" +
         close + "parameter>\\n' }}{% endfor %}{{ '" + close + "invoke>\\n' }}{% endfor %}" + close + name +
         ">{% endif %}";
}

inline const std::vector<FormTemplate>& FormTemplates() {
  static const std::vector<FormTemplate> templates = {
      {ToolForm::kHermes, Texts::kAny,
       R"({% for c in m.tool_calls %}{{ '\n' if not loop.first }}<tool_call>
{{ '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}
</tool_call>{% endfor %})"},
      {ToolForm::kQwenCoder, Texts::kUntagged,
       R"({% for c in m.tool_calls %}{{ '\n' if not loop.first }}
{{- '<tool_call>\n<function=' + c.function.name + '>\n' }}
{%- for key, value in c.function.arguments.items() %}{{ '<parameter=' + key + '>\n' }}
{{- value if value is string else value | tojson }}{{ '\n</parameter>\n' }}{% endfor %}
{{- '</function>\n</tool_call>' }}{% endfor %})"},
      {ToolForm::kSeed, Texts::kUntagged,
       R"({% for c in m.tool_calls %}{{ '\n' if not loop.first }}
{{- '<seed:tool_call>\n<function=' + c.function.name + '>\n' }}
{%- for key, value in c.function.arguments.items() %}{{ '<parameter=' + key + '>' }}
{{- value if value is string else value | tojson }}{{ '</parameter>\n' }}{% endfor %}
{{- '</function>\n</seed:tool_call>' }}{% endfor %})"},
      {ToolForm::kGlm, Texts::kUntagged,
       R"({% for c in m.tool_calls %}{{ '\n' if not loop.first }}{{ '<tool_call>' + c.function.name + '\n' }}
{%- for key, value in c.function.arguments.items() %}{{ '<arg_key>' + key + '</arg_key>\n<arg_value>' }}
{{- value if value is string else value | tojson }}{{ '</arg_value>\n' }}{% endfor %}
{{- '</tool_call>' }}{% endfor %})"},
      {ToolForm::kLlama3, Texts::kAny,
       R"({% for c in m.tool_calls %}
{{- '{"name": "' + c.function.name + '", "parameters": ' + c.function.arguments | tojson + '}' }}{% endfor %})",
       "<|python_tag|>", false, true},
      {ToolForm::kMistral, Texts::kAny,
       R"({% if m.tool_calls %}[TOOL_CALLS][{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}{% endfor %}]
{%- endif %})"},
      {ToolForm::kMistralArgs, Texts::kAny,
       R"({% for c in m.tool_calls %}
{{- '[TOOL_CALLS]' + c.function.name + '[ARGS]' + c.function.arguments | tojson }}{% endfor %})"},
      {ToolForm::kMistralIds, Texts::kAny,
       R"({% for c in m.tool_calls %}
{{- '[TOOL_CALLS]' + c.function.name + '[CALL_ID]' + c.id + '[ARGS]' + c.function.arguments | tojson }}{% endfor %})"},
      {ToolForm::kHarmony, Texts::kAny,
       R"({% for c in m.tool_calls %}{{ ' to=functions.' + c.function.name + '<|channel|>commentary json<|message|>' }}
{{- c.function.arguments | tojson }}{% endfor %})",
       "<|start|>", false, true, "<|channel|>final<|message|>"},
      {ToolForm::kGemma4, Texts::kGemma,
       R"({% macro write(v) %}{% if v is string %}{{ '<|"|>' + v + '<|"|>' }}{% elif v is boolean %}
{{- 'true' if v else 'false' }}{% elif v is mapping %}{{ '{' }}{% for k, x in v | dictsort %}{{ ',' if not loop.first }}
{{- k + ':' }}{{ write(x) }}{% endfor %}{{ '}' }}{% elif v is sequence %}[{% for x in v %}{{ ',' if not loop.first }}
{{- write(x) }}{% endfor %}]{% else %}{{ v }}{% endif %}{% endmacro %}
{%- for c in m.tool_calls %}{{ '<|tool_call>call:' + c.function.name }}{{ write(c.function.arguments) }}<tool_call|>
{%- endfor %})"},
      {ToolForm::kFunctionGemma, Texts::kGemma,
       R"({% macro write(v) %}{% if v is string %}{{ '<escape>' + v + '<escape>' }}{% elif v is boolean %}
{{- 'true' if v else 'false' }}{% elif v is mapping %}{{ '{' }}{% for k, x in v | dictsort %}{{ ',' if not loop.first }}
{{- k + ':' }}{{ write(x) }}{% endfor %}{{ '}' }}{% elif v is sequence %}[{% for x in v %}{{ ',' if not loop.first }}
{{- write(x) }}{% endfor %}]{% else %}{{ v }}{% endif %}{% endmacro %}
{%- for c in m.tool_calls %}{{ '<start_function_call>call:' + c.function.name }}{{ write(c.function.arguments) }}
{{- '<end_function_call>' }}{% endfor %})"},
      {ToolForm::kLfm2, Texts::kPython,
       R"({% if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- c.function.name + '(' }}{% for k, v in c.function.arguments.items() %}{{ ', ' if not loop.first }}{{ k + '=' }}
{{- "'" + v + "'" if v is string else v | tojson if v is mapping else v }}{% endfor %}){% endfor %}]<|tool_call_end|>
{%- endif %})"},
      {ToolForm::kOlmo3, Texts::kPython,
       R"({% if m.tool_calls %}{{ '<function_calls>\n' }}{% for c in m.tool_calls %}{{ '\n' if not loop.first }}
{{- c.function.name + '(' }}{% for k, v in c.function.arguments.items() %}{{ ', ' if not loop.first }}{{ k + '=' }}
{{- "'" + v + "'" if v is string else v | tojson if v is mapping else v }}{% endfor %}){% endfor %}
{{- '\n</function_calls>' }}{% endif %})"},
      {ToolForm::kLfm25, Texts::kAsIs,
       R"({% if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- c.function.name + '(' }}{% for key, arg_value in c.function.arguments.items() %}{{ ', ' if not loop.first }}
{{- key + '=' }}{{ "'" + arg_value + "'" if arg_value is string else arg_value | tojson if arg_value is mapping
else arg_value | string }}{% endfor %}){% endfor %}]<|tool_call_end|>{% endif %})"},
      {ToolForm::kPhi4, Texts::kAny,
       R"({% for c in m.tool_calls %}{{ '<|tool_call|>' + c.function | tojson + '<|/tool_call|>' }}{% endfor %})"},
      {ToolForm::kGranite, Texts::kAny,
       R"({% if m.tool_calls %}<|tool_call|>[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}{% endfor %}]
{%- endif %})"},
      {ToolForm::kNemotron, Texts::kAny,
       R"({% if m.tool_calls %}<TOOLCALL>[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}{% endfor %}]</TOOLCALL>
{%- endif %})"},
      {ToolForm::kDeepSeekV3, Texts::kAny,
       "{% if m.tool_calls %}<\uFF5Ctool\u2581calls\u2581begin\uFF5C>{% for c in m.tool_calls %}"
       "{{ '\\n' if not loop.first }}<\uFF5Ctool\u2581call\u2581begin\uFF5C>{{ c.type }}<\uFF5Ctool\u2581sep\uFF5C>"
       "{{ c.function.name + '\\n```json\\n' + c.function.arguments | tojson + '\\n```' }}"
       "<\uFF5Ctool\u2581call\u2581end\uFF5C>{% endfor %}<\uFF5Ctool\u2581calls\u2581end\uFF5C>{% endif %}"},
      {ToolForm::kDeepSeekV31, Texts::kAny,
       "{% if m.tool_calls %}<\uFF5Ctool\u2581calls\u2581begin\uFF5C>{% for c in m.tool_calls %}"
       "<\uFF5Ctool\u2581call\u2581begin\uFF5C>{{ c.function.name }}<\uFF5Ctool\u2581sep\uFF5C>"
       "{{ c.function.arguments | tojson }}<\uFF5Ctool\u2581call\u2581end\uFF5C>{% endfor %}"
       "<\uFF5Ctool\u2581calls\u2581end\uFF5C>{% endif %}"},
      {ToolForm::kKimiK2, Texts::kAny,
       R"({% if m.tool_calls %}<|tool_calls_section_begin|>{% for c in m.tool_calls %}
{{- '<|tool_call_begin|>functions.' + c.function.name + ':' + loop.index0 | string + '<|tool_call_argument_begin|>' }}
{{- c.function.arguments | tojson }}<|tool_call_end|>{% endfor %}<|tool_calls_section_end|>{% endif %})"},
      {ToolForm::kCommandR7b, Texts::kAny,
       R"({% if m.tool_calls %}<|START_ACTION|>[{% for c in m.tool_calls %}{{ ',' if not loop.first }}
    {{ '{"tool_call_id": "' + loop.index0 | string + '", "tool_name": "' + c.function.name + '", "parameters": ' }}
{{- c.function.arguments | tojson + '}' }}{% endfor %}{{ '\n' }}]<|END_ACTION|>{% endif %})",
       "", false, false, "<|START_RESPONSE|>"},
      {ToolForm::kCommandR, Texts::kAny,
       R"({% if m.tool_calls %}{{ 'Action:\n```json\n[\n' }}{% for c in m.tool_calls %}{{ ',\n' if not loop.first }}
{{- '    {\n        "tool_name": "' + c.function.name + '",\n        "parameters": ' }}
{{- c.function.arguments | tojson + '\n    }' }}{% endfor %}{{ '\n]```' }}{% endif %})"},
      {ToolForm::kFunctionary, Texts::kAny,
       R"({% for c in m.tool_calls %}
{{- '<function=' + c.function.name + '>' + c.function.arguments | tojson + '</function>' }}{% endfor %})"},
      {ToolForm::kRecipients, Texts::kAny,
       R"({% for c in m.tool_calls %}
{{- '>>>' + c.function.name + '\n' + c.function.arguments | tojson }}{% endfor %})",
       "", true, false, ">>>all\n"},
      {ToolForm::kFireFunction, Texts::kAny,
       R"({% if m.tool_calls %} functools[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}{% endfor %}]
{%- endif %})"},
      {ToolForm::kMiniMax, Texts::kUntagged,
       R"({% if m.tool_calls %}{{ '<minimax:tool_call>\n' }}{% for c in m.tool_calls %}
{{- '<invoke name="' + c.function.name + '">\n' }}{% for key, value in c.function.arguments.items() %}
{{- '<parameter name="' + key + '">' }}{{ value if value is string else value | tojson }}{{ '</parameter>\n' }}
{%- endfor %}{{ '</invoke>\n' }}{% endfor %}</minimax:tool_call>{% endif %})"},
      {ToolForm::kHunyuan, Texts::kAny,
       R"({% if m.tool_calls %}<tool_calls>[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}{% endfor %}]
{{- '</tool_calls>' }}{% endif %})"},
      {ToolForm::kGigaChat, Texts::kAny,
       R"({% for c in m.tool_calls %}<|function_call|>
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}{% endfor %})",
       "", false, true},
      {ToolForm::kApertus, Texts::kAny,
       R"({% if m.tool_calls %}<|tools_prefix|>[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"' + c.function.name + '": ' + c.function.arguments | tojson + '}' }}{% endfor %}]<|tools_suffix|>{% endif %})"},
      {ToolForm::kMiniMaxM1, Texts::kAny,
       R"({% if m.tool_calls %}{{ '<tool_calls>\n' }}{% for c in m.tool_calls %}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n' }}{% endfor %}
{{- '</tool_calls>' }}{% endif %})",
       R"(<tool_calls>\n{)"},
      {ToolForm::kErnie, Texts::kAny,
       R"({% for c in m.tool_calls %}{{ '\n' if not loop.first }}<tool_call>
{{ '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' }}
</tool_call>{% endfor %})",
       "", false, false, "<response>\n"},
      {ToolForm::kHy3, Texts::kUntagged,
       R"({% set sep = '<tool_sep{}>'.format(':opensource') %}{% if m.tool_calls %}
{{- '<tool_calls:opensource>\n' }}{% for c in m.tool_calls %}
{{- '<tool_call:opensource>' + c.function.name + sep + '\n' }}{% for key, value in c.function.arguments.items() %}
{{- '<arg_key:opensource>' + key + '</arg_key:opensource>\n<arg_value:opensource>' }}
{{- value if value is string else value | tojson }}{{ '</arg_value:opensource>\n' }}{% endfor %}
{{- '</tool_call:opensource>\n' }}{% endfor %}</tool_calls:opensource>{% endif %})"},
      {ToolForm::kDeepSeekV32, Texts::kUntagged, DsmlCalls("function_calls")},
      {ToolForm::kDeepSeekV4, Texts::kUntagged, DsmlCalls("tool_calls")},
      {ToolForm::kKimiK3, Texts::kUntagged,
       R"({% macro open_tag(tag) %}<|open|>{{ tag }}<|sep|>{% endmacro %}
{%- macro type(v) %}{{ 'boolean' if v is boolean else 'null' if v is none else 'number' if v is number else
'string' if v is string else 'object' if v is mapping else 'array' }}{% endmacro %}
{%- if m.tool_calls %}{{ open_tag('tools') }}{% for c in m.tool_calls %}
{{- '<|open|>call tool="' + c.function.name + '" index="' + loop.index | string + '"<|sep|>' }}
{%- for key, value in c.function.arguments.items() %}
{{- '<|open|>argument key="' + key + '" type="' + type(value) + '"<|sep|>' }}
{{- value if value is string else value | tojson }}<|close|>argument<|sep|>{% endfor %}<|close|>call<|sep|>
{%- endfor %}<|close|>tools<|sep|>{% endif %})",
       "", false, false, "<|open|>response<|sep|>"},
      {ToolForm::kSolar, Texts::kAny,
       R"({% if m.tool_calls %}<|tool_calls|>{% for c in m.tool_calls %}
{{- '<|tool_call:begin|>' + c.id + '<|tool_call:name|>' + c.function.name + '<|tool_call:args|>' }}
{{- c.function.arguments | tojson }}<|tool_call:end|>{% endfor %}<|calls|>{% endif %})",
       "", false, false, "<|content|>"},
  };
  return templates;
}

// The whole template of a row.
inline std::string SourceOf(const FormTemplate& one) {
  return "{{ 'tools: ' + tools | tojson if tools }}{{ '' if true else '" + std::string(one.other) +
         "' }}{% for m in messages %}{% if m.role == 'assistant' %}<BEGIN>{% if m.tool_calls %}" + one.calls +
         "{% else %}" + std::string(one.text_begin) +
         "{{ m.content }}{% endif %}<END>{% else %}{{ m.role + ': ' + m.content }}{% endif %}{% endfor %}";
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_TEXT_TOOLS_FORM_TEMPLATES_H_
