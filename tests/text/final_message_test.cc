// SPDX-License-Identifier: Apache-2.0
//
// Chats whose last message is the beginning of the answer.

#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/open/chat.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace final_message_test {

// Renders with a template of marked turns; `content` is what becomes of a message's text.
Result<MarkedText> Render(const std::string& content, const std::vector<Message>& messages) {
  const std::string source = "{%- for m in messages -%}{{ '[' + m.role + ']' + " + content +
                             " + '[end]\\n' }}{%- endfor -%}{{ '[assistant]' if add_generation_prompt }}";
  Chat chat(messages);
  chat.continue_final_message = true;
  return RenderChat(TestTokenizer("gemma_style"), *ChatTemplate::Make(source, {}), chat);
}

std::string TextOf(const Result<MarkedText>& text) { return text ? text->text() : "error: " + text.error().message; }

TEST_CASE("a chat that goes on with its last message ends with it") {
  const std::string before = "[user]yes[end]\n[assistant]";
  const auto with = [](std::string answer) {
    return std::vector<Message>{{Role::kUser, "yes"}, {Role::kAssistant, std::move(answer)}};
  };
  CHECK(TextOf(Render("m.content", with("The answer is"))) == before + "The answer is");
  CHECK(TextOf(Render("m.content", with(" The answer: "))) == before + " The answer: ");
  CHECK(TextOf(Render("m.content | trim", with(" The answer: "))) == before + "The answer:");
  // Text of the template is not taken for the message, nor is an earlier message.
  CHECK(TextOf(Render("m.content", with("end"))) == before + "end");
  CHECK(TextOf(Render("m.content", with("yes"))) == before + "yes");
  CHECK(TextOf(Render("m.content", with("\xC3\xA4[end]"))) == before + "\xC3\xA4[end]");
}

TEST_CASE("a last message that cannot go on is an error") {
  const auto error = [](const std::string& content, const std::vector<Message>& messages) {
    const auto text = Render(content, messages);
    REQUIRE_FALSE(text);
    CHECK(text.error().code == ErrorCode::kInvalidArgument);
    return text.error().message;
  };
  CHECK(error("m.content", {}).find("no message") != std::string::npos);
  CHECK(error("m.content", {{Role::kAssistant, " "}}).find("no text") != std::string::npos);
  CHECK(error("'nothing'", {{Role::kAssistant, "nothing"}}).find("as it is") != std::string::npos);
}

}  // namespace final_message_test
}  // namespace skald
