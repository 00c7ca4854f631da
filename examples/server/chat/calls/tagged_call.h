// SPDX-License-Identifier: Apache-2.0
//
// TaggedCall: what stands between <tool_call> and </tool_call> while it comes. Where that ends only the call itself can
// tell, for its arguments may have any of the marks within: they are JSON (Hermes), or parameters between tags of which
// each ends by its own (Qwen3-Coder).

#ifndef SKALD_EXAMPLES_SERVER_CHAT_CALLS_TAGGED_CALL_H_
#define SKALD_EXAMPLES_SERVER_CHAT_CALLS_TAGGED_CALL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/chat/output_format.h"
#include "server/chat/output_part.h"
#include "server/chat/tools.h"

namespace skald::serve {

inline constexpr std::string_view kCallBegin = "<tool_call>", kCallEnd = "</tool_call>";

// Used by one thread at a time.
class TaggedCall {
 public:
  virtual ~TaggedCall() = default;

  // Takes what is new behind the mark that begins the call. Returns whether the call has ended.
  bool Push(std::string_view text) {
    text_ += text;
    while (!has_ended_ && Step()) {
    }
    return has_ended_;
  }

  // The calls that it is; none where it cannot be read. Of one that has not ended, those that are whole but for the
  // mark.
  virtual std::vector<OutputPart> Calls() const = 0;

  // What came up to the end, the mark too, and what came behind it.
  std::string_view text() const { return std::string_view(text_).substr(0, has_ended_ ? at_ : text_.size()); }
  std::string_view rest() const { return std::string_view(text_).substr(text().size()); }

 protected:
  // Goes on from at_ as far as is certain; returns whether it can go on from there at once.
  virtual bool Step() = 0;

  // Moves at_ behind white space and `mark`. Returns whether they were there; if what came does not tell yet,
  // `is_certain` is false.
  bool Take(std::string_view mark, bool& is_certain);
  // Moves at_ behind the first `mark`, or to where the beginning of one may be.
  bool TakeUntil(std::string_view mark);
  // Ends the call at at_.
  void End() { has_ended_ = true; }

  std::string text_;
  size_t at_ = 0;  // what is before it is certain

 private:
  bool has_ended_ = false;
};

// Makes one of `form`, kHermes or kQwenCoder. `tools` must outlive it.
std::unique_ptr<TaggedCall> MakeTaggedCall(ToolForm form, const ToolList& tools);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_CALLS_TAGGED_CALL_H_
