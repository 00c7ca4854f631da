// SPDX-License-Identifier: Apache-2.0
//
// CallGrammar: how calls of some tools are written, as a grammar, in the form that the model was trained on. All that
// it allows the parser of that form reads back.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_CALLS_CALL_GRAMMAR_H_
#define SKALD_EXAMPLES_SERVER_CHAT_CALLS_CALL_GRAMMAR_H_

#include <set>
#include <string>
#include <vector>

#include "server/chat/output_format.h"
#include "server/chat/tools.h"
#include "skald/base/result.h"
#include "skald/constraints/grammar/grammar.h"

namespace skald::serve {

class CallGrammar {
 public:
  // `tools` must outlive this. `mistral_arguments`: the template writes calls as NAME[ARGS]{...}.
  CallGrammar(ToolForm form, const ToolList& tools, bool mistral_arguments)
      : form_(form), tools_(tools), mistral_arguments_(mistral_arguments) {}

  // What begins a call where the model may write anything.
  std::vector<std::string> triggers() const;
  // Whether it begins one only as the beginning of an answer.
  bool begins_answer() const { return form_ == ToolForm::kLlama3; }
  // Whether text or another call may come behind a call.
  bool goes_on() const {
    return tools_.is_parallel && tools_.only.empty() && (form_ == ToolForm::kHermes || form_ == ToolForm::kQwenCoder);
  }

  // These tools' arguments may be any object, whatever their schemas say.
  void Loosen(std::set<std::string> names) { loose_ = std::move(names); }

  // Adds a call, or the list of them that is one, behind what triggers it.
  Result<Grammar::Expression> AddCall(Grammar& grammar) const;
  // Adds calls that are a whole answer: the first with what triggers it, others behind it where there may be.
  Result<Grammar::Expression> AddAnswer(Grammar& grammar) const;
  // Adds `answer`, a grammar of its own, as this form writes a final answer.
  Grammar::Expression AddText(const Grammar& answer, Grammar& grammar) const;

 private:
  Result<Grammar::Expression> AddCallOf(const Tool& tool, Grammar& grammar) const;
  Result<Grammar::Expression> AddParameters(const Tool& tool, Grammar& grammar) const;

  ToolForm form_;
  const ToolList& tools_;
  bool mistral_arguments_;
  std::set<std::string> loose_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_CALLS_CALL_GRAMMAR_H_
