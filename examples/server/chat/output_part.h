// SPDX-License-Identifier: Apache-2.0
//
// OutputPart: a piece of an answer that is one thing: text, thought, or a call of a tool.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_PART_H_
#define SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_PART_H_

#include <string>

namespace skald::serve {

struct OutputPart {
  enum class Kind { kText, kReasoning, kToolCall };
  Kind kind = Kind::kText;
  std::string text = {};  // of a call its arguments, as JSON
  std::string name = {};  // of the tool
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_PART_H_
