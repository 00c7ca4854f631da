// SPDX-License-Identifier: Apache-2.0
//
// OutputParser: divides the text of an answer into thoughts, text and calls of tools while it comes. What the parts
// hold, joined, does not depend on how the text was divided when it came.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_PARSER_H_
#define SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_PARSER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "server/chat/output_format.h"
#include "server/chat/output_part.h"
#include "server/chat/tools.h"

namespace skald::serve {

// Used by one thread at a time.
class OutputParser {
 public:
  virtual ~OutputParser() = default;

  // Takes what is new of the text and returns the parts that have become certain.
  virtual std::vector<OutputPart> Push(std::string_view text) = 0;
  // The rest, at the answer's end. A call that is not whole comes as text.
  virtual std::vector<OutputPart> Finish() = 0;
};

// How an answer is to be read.
struct OutputReading {
  OutputFormat format = {};
  ToolList tools = {};           // that may be called; with none, what looks like a call is text
  bool begins_thinking = false;  // the prompt has begun a thought
  // An answer is either calls or text, as where it must fit a schema: what looks like a call within the text is text.
  bool is_text_or_calls = false;
  bool continues = false;  // the prompt has begun the answer's text
};

std::unique_ptr<OutputParser> MakeOutputParser(OutputReading reading);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_PARSER_H_
