// SPDX-License-Identifier: Apache-2.0
//
// CallReader: calls of one form while they come, from the end of the mark that begins them. Only the calls themselves
// can tell where they end, because their arguments may have any mark within.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_CALL_READER_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_CALL_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/forms/detail/call_form.h"
#include "skald/open/tools/output_part.h"
#include "skald/open/tools/tools.h"

namespace skald::internal::calls {

using Kind = OutputPart::Kind;

// Texts and thoughts that follow each other are one part, and so are arguments.
inline void AddPart(std::vector<OutputPart>& parts, Kind kind, std::string_view text) {
  const bool can_be_empty = kind == Kind::kToolCall || kind == Kind::kCallEnd;
  if (text.empty() && !can_be_empty) return;
  if (!parts.empty() && parts.back().kind == kind && !can_be_empty) {
    parts.back().text += text;
  } else {
    parts.push_back({kind, std::string(text)});
  }
}

// A call while it comes.
class OpenCall {
 public:
  void Begin(std::string_view name, std::vector<OutputPart>& parts) {
    AddPart(parts, Kind::kToolCall, name);
    arguments_.clear();
  }
  void Add(std::string_view json, std::vector<OutputPart>& parts) {
    AddPart(parts, Kind::kArguments, json);
    arguments_ += json;
  }
  // Returns whether the arguments are JSON: else the call does not end.
  bool End(std::vector<OutputPart>& parts) {
    if (!IsJson(arguments_)) return false;
    AddPart(parts, Kind::kCallEnd, {});
    return true;
  }

 private:
  std::string arguments_;
};

// Used by one thread at a time.
class CallReader {
 public:
  enum class State {
    kOpen,
    kEnded,  // all calls have come, and the mark that ends them
    kWrong,  // the last byte, or what came before it without having become a call, is no part of calls
  };

  CallReader(const CallForm& form, const ToolList& tools) : form_(form), tools_(tools) {}
  virtual ~CallReader() = default;

  // Takes the next byte, and adds the parts of calls that it makes certain. `state` must be kOpen.
  State Take(char c, std::vector<OutputPart>& parts) {
    parts_ = &parts;
    TakeByte(c);
    return state_;
  }

  // Whether a call has begun: what came so far cannot be text any more.
  bool has_begun() const { return has_begun_; }

 protected:
  virtual void TakeByte(char c) = 0;

  void Fail() { state_ = State::kWrong; }
  void BeginCall(std::string_view name) {
    has_begun_ = true;
    call_.Begin(name, *parts_);
  }
  void AddArguments(std::string_view json) { call_.Add(json, *parts_); }
  void EndCall() {
    if (!call_.End(*parts_)) Fail();
  }
  void EndCalls() {
    if (state_ == State::kOpen) state_ = State::kEnded;
  }

  const CallForm& form_;
  const ToolList& tools_;

 private:
  State state_ = State::kOpen;
  bool has_begun_ = false;
  OpenCall call_;
  std::vector<OutputPart>* parts_ = nullptr;  // of the byte that is being taken
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_CALL_READER_H_
