// SPDX-License-Identifier: Apache-2.0
//
// OutputParser: divides the text of an answer into thoughts, text and calls of tools while it comes. The parts,
// joined, do not depend on how the text was divided when it came.

#ifndef SKALD_OPEN_TOOLS_OUTPUT_PARSER_H_
#define SKALD_OPEN_TOOLS_OUTPUT_PARSER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "skald/open/tools/output_format.h"
#include "skald/open/tools/output_part.h"
#include "skald/open/tools/tools.h"

namespace skald {

/// Reads one answer. Used by one thread at a time.
class OutputParser {
 public:
  virtual ~OutputParser() = default;

  /// Takes the next piece of the text, in UTF-8 or parts of it, and returns the parts that have become certain.
  virtual std::vector<OutputPart> Push(std::string_view text) = 0;
  /// Returns the rest, at the answer's end. A call that is not whole comes as text.
  virtual std::vector<OutputPart> Finish() = 0;
};

/// How an answer is to be read.
struct OutputReading {
  OutputFormat format = {};      ///< of the model
  ToolList tools = {};           ///< that may be called; with none, a call is text
  bool begins_thinking = false;  ///< the prompt has begun a thought
  /// An answer is either calls or text, as where it must fit a schema: a call within the text is part of it.
  bool is_text_or_calls = false;
  bool continues = false;  ///< the prompt has begun the answer's text
};

/// Returns a parser of one answer. Throws std::bad_alloc alone.
std::unique_ptr<OutputParser> MakeOutputParser(OutputReading reading);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/tools/detail/output_parser.h"
#endif

#endif  // SKALD_OPEN_TOOLS_OUTPUT_PARSER_H_
