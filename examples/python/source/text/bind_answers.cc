// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/open/chat.h"
#include "skald/open/open_model.h"
#include "skald/open/tools/output_parser.h"
#include "values/errors.h"
#include "values/json.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

using Kind = OutputPart::Kind;

// The tools of a list as OpenAI has it: [{"function": {"name": ..., "parameters": ...}}].
ToolList ToolsOf(nb::list given) {
  ToolList list;
  for (nb::handle entry : given) {
    const auto function = nb::cast<nb::dict>(entry["function"]);
    Tool tool{nb::cast<std::string>(function["name"]), {}, {}};
    if (function.contains("parameters")) tool.parameters = JsonOf(function["parameters"]);
    list.tools.push_back(std::move(tool));
  }
  return list;
}

// Text, thought and calls of an answer.
class AnswerMessage {
 public:
  void Add(const std::vector<OutputPart>& parts) {
    for (const OutputPart& part : parts) {
      if (part.kind == Kind::kText) text_ += part.text;
      if (part.kind == Kind::kReasoning) thought_ += part.text;
      if (part.kind == Kind::kToolCall) calls_.push_back({part.text, ""});
      if (part.kind == Kind::kArguments) calls_.back().second += part.text;
    }
  }

  nb::dict ToDict() const {
    nb::dict message;
    message["content"] = text_;
    message["reasoning_content"] = thought_;
    nb::list calls;
    for (const auto& [name, arguments] : calls_) {
      nb::dict call;
      call["name"] = name;
      call["arguments"] = arguments;
      calls.append(call);
    }
    message["tool_calls"] = calls;
    return message;
  }

 private:
  std::string text_, thought_;
  std::vector<std::pair<std::string, std::string>> calls_;
};

}  // namespace

void BindAnswers(nb::module_& m) {
  nb::borrow<nb::class_<LanguageModel>>(m.attr("LanguageModel"))
      .def_prop_ro(
          "needs_special_text", [](const LanguageModel& self) { return self.text.output.needs_special_text(); },
          Doc("OutputFormat::needs_special_text"))
      .def(
          "parse_answer",
          [](const LanguageModel& self, std::string_view text, TokenIds prompt, nb::object tools) {
            const bool begins_thinking = BeginsThinking(self.text.tokenizer, self.text.output, prompt.Read());
            const auto parser =
                MakeOutputParser({.format = self.text.output,
                                  .tools = tools.is_none() ? ToolList() : ToolsOf(nb::cast<nb::list>(tools)),
                                  .begins_thinking = begins_thinking});
            AnswerMessage message;
            message.Add(parser->Push(text));
            message.Add(parser->Finish());
            return message.ToDict();
          },
          "text"_a, "prompt"_a, "tools"_a = nb::none(),
          nb::sig("def parse_answer(self, text: str, prompt: collections.abc.Sequence[int], tools: list[typing.Any] | "
                  "None = None) -> dict[str, typing.Any]"),
          "Returns the parts of an answer to `prompt`: content, reasoning_content, and tool_calls of name and "
          "arguments "
          "(JSON). `tools` is a list as OpenAI has it; without, calls are text.");
}

}  // namespace skald::python
