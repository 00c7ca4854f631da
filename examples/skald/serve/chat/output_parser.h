// SPDX-License-Identifier: Apache-2.0
//
// OutputParser: divides the text of an answer into thoughts, text and calls of tools while it comes. What the parts
// hold, joined, does not depend on how the text was divided when it came.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_CHAT_OUTPUT_PARSER_H_
#define SKALD_EXAMPLES_SKALD_SERVE_CHAT_OUTPUT_PARSER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/chat/output_format.h"
#include "serve/chat/tools.h"

namespace skald::serve {

struct OutputPart {
  enum class Kind { kText, kReasoning, kToolCall };
  Kind kind = Kind::kText;
  std::string text = {};  // of a call its arguments, as JSON
  std::string name = {};  // of the tool
};

// Used by one thread at a time.
class OutputParser {
 public:
  virtual ~OutputParser() = default;

  // Takes what is new of the text and returns the parts that have become certain.
  virtual std::vector<OutputPart> Push(std::string_view text) = 0;
  // The rest, at the answer's end. A call that is not whole comes as text.
  virtual std::vector<OutputPart> Finish() = 0;
};

// `tools` may be called; with none, what looks like a call is text. `begins_thinking`: the prompt has begun a thought.
std::unique_ptr<OutputParser> MakeOutputParser(const OutputFormat& format, const ToolList& tools, bool begins_thinking);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_CHAT_OUTPUT_PARSER_H_
