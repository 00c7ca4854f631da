// SPDX-License-Identifier: Apache-2.0
//
// Calls that go on to the end of an answer, so that they are read when all of it is there.

#ifndef SKALD_OPEN_TOOLS_DETAIL_WHOLE_CALLS_H_
#define SKALD_OPEN_TOOLS_DETAIL_WHOLE_CALLS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/open/tools/detail/json_calls.h"
#include "skald/open/tools/detail/json_text.h"
#include "skald/open/tools/output_part.h"

namespace skald::internal::calls {

inline constexpr std::string_view kMistralCalls = "[TOOL_CALLS]", kMistralArguments = "[ARGS]";
inline constexpr std::string_view kPythonTag = "<|python_tag|>";

// Takes an object of JSON off the beginning of `text`; returns an empty text if there is none.
inline std::string_view TakeObject(std::string_view& text) {
  JsonScanner scanner;
  const std::string_view object = text.substr(0, scanner.Push(text));
  if (scanner.state() != JsonScanner::State::kWhole || !Trimmed(object).starts_with('{')) return {};
  text.remove_prefix(object.size());
  return Trimmed(object);
}

// Of Llama 3: objects, divided by semicolons. Text after the last one that is a call is dropped.
inline std::vector<OutputPart> LlamaCallsOf(std::string_view text) {
  std::vector<OutputPart> calls;
  text = Trimmed(text);
  if (text.starts_with(kPythonTag)) text.remove_prefix(kPythonTag.size());
  while (auto call = CallOf(TakeObject(text))) {
    calls.push_back(*std::move(call));
    text = Trimmed(text);
    if (text.starts_with(';')) text.remove_prefix(1);
  }
  return calls;
}

// Of Mistral, after the mark: a list of calls; or, of newer models, names and objects, NAME{...} or NAME[ARGS]{...},
// each after a mark. None where anything else is there.
inline std::vector<OutputPart> MistralCallsOf(std::string_view text) {
  if (auto calls = CallsOf(Trimmed(text)); !calls.empty()) return calls;
  std::vector<OutputPart> calls;
  for (text = Trimmed(text); !text.empty(); text = Trimmed(text)) {
    const size_t name_end = std::min(text.find_first_of("[{"), text.size());
    const std::string name(Trimmed(text.substr(0, name_end)));
    const size_t brace = text.find('{'), marked = text.find(kMistralArguments);
    if (brace == text.npos || name.empty()) return {};
    text.remove_prefix(marked < brace ? marked + kMistralArguments.size() : brace);
    const std::string_view arguments = TakeObject(text);
    if (!MembersOf(arguments)) return {};
    calls.push_back({OutputPart::Kind::kToolCall, WithoutSpace(arguments), name});
    text = Trimmed(text);
    if (!text.empty() && !text.starts_with(kMistralCalls)) return {};
    text.remove_prefix(std::min(kMistralCalls.size(), text.size()));
  }
  return calls;
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_WHOLE_CALLS_H_
