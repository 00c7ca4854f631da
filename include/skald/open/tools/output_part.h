// SPDX-License-Identifier: Apache-2.0
//
// OutputPart: a piece of an answer that is text, thought, or a call of a tool.

#ifndef SKALD_OPEN_TOOLS_OUTPUT_PART_H_
#define SKALD_OPEN_TOOLS_OUTPUT_PART_H_

#include <cstddef>
#include <string>

namespace skald {

/// Most arrays and objects inside each other in the arguments of a call. A text that nests deeper is no call.
inline constexpr size_t kMostAnswerNesting = 1024;

/// A piece of an answer.
struct OutputPart {
  /// The kinds of pieces.
  enum class Kind {
    kText,       ///< for the user
    kReasoning,  ///< a thought
    kToolCall,   ///< a whole call
  };
  Kind kind = Kind::kText;  ///< of this part
  std::string text = {};    ///< of a call its arguments, as a JSON object with the model's own digits
  std::string name = {};    ///< of the tool; empty if it is no call
};

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_OUTPUT_PART_H_
