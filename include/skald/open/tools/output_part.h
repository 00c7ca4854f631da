// SPDX-License-Identifier: Apache-2.0
//
// OutputPart: a piece of an answer that is text, thought, or part of a call of a tool.

#ifndef SKALD_OPEN_TOOLS_OUTPUT_PART_H_
#define SKALD_OPEN_TOOLS_OUTPUT_PART_H_

#include <cstddef>
#include <string>

namespace skald {

/// Most arrays and objects inside each other in the arguments of a call. A text that nests deeper is no call.
inline constexpr size_t kMostAnswerNesting = 1024;

/// A piece of an answer. A call comes as one kToolCall, any number of kArguments and one kCallEnd, with nothing else
/// between; where the answer breaks off within a call, or the arguments are no JSON, the kCallEnd is missing.
struct OutputPart {
  /// The kinds of pieces.
  enum class Kind {
    kText,       ///< for the user
    kReasoning,  ///< a thought
    kToolCall,   ///< a call begins: the name of its tool
    kArguments,  ///< the next piece of its arguments, a JSON object with the model's own digits
    kCallEnd,    ///< the call is whole; no text
  };
  Kind kind = Kind::kText;  ///< of this part
  std::string text = {};    ///< see Kind
};

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_OUTPUT_PART_H_
