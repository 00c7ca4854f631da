// SPDX-License-Identifier: Apache-2.0
//
// Tools in chats with templates that know none, and calls as templates want them.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/open/chat.h"
#include "tests/text/test_tokenizers.h"

namespace skald::testing {
namespace tool_text_test {

using Json = nlohmann::ordered_json;

constexpr const char* kPlain = "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% endfor %}";
constexpr const char* kNoSystem =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "{{ '[' + m.role + ']' + m.content }}{% endfor %}";

Chat Talk() {
  Chat chat;
  TreeOf(chat.messages) = Json::parse(R"([{"role": "user", "content": "Go"},
      {"role": "assistant", "content": "Well.", "tool_calls": [
          {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": {"x": "a"}}},
          {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": {}}}]},
      {"role": "tool", "tool_call_id": "call_1", "content": "one"},
      {"role": "tool", "tool_call_id": "call_2", "content": "two"},
      {"role": "user", "content": "And?"}])");
  TreeOf(chat.tools) = Json::parse(R"([{"type": "function", "function": {"name": "look", "parameters": {}}}])");
  return chat;
}

std::string Rendered(const char* source, const Chat& chat) {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  const auto chat_template = ChatTemplate::Parse(source);
  REQUIRE(chat_template.has_value());
  const auto text = RenderChat(tokenizer, *chat_template, chat);
  REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().message));
  return text->text();
}

TEST_CASE("a template that knows no tools has them in texts") {
  Chat chat = Talk();
  chat.tools_are_text = true;
  const std::string text = Rendered(kPlain, chat);
  CAPTURE(text);
  CHECK(text.starts_with("[system]You can call tools."));
  CHECK(text.find("{\"name\":\"look\",\"parameters\":{}}\n") != std::string::npos);
  CHECK(text.find("[user]Go[assistant]Well.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"x\":\"a\"}}\n"
                  "</tool_call>\n<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>"
                  "[user]<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>\n\nAnd?") !=
        std::string::npos);
  TreeOf(chat.messages).insert(TreeOf(chat.messages).begin(), Json{{"role", "system"}, {"content", "Be brief."}});
  CHECK(Rendered(kPlain, chat).starts_with("[system]Be brief.\n\nYou can call tools."));
  // Without a place for a system's text it is the user's.
  TreeOf(chat.messages).erase(TreeOf(chat.messages).begin());
  CHECK(Rendered(kNoSystem, chat).starts_with("[user]You can call tools."));
  // Without tools nothing is said of them.
  chat.tools = {};
  CHECK(Rendered(kPlain, chat).starts_with("[user]Go[assistant]Well.\n<tool_call>"));
}

TEST_CASE("calls are written as a template wants them") {
  const Chat chat = Talk();
  const char* const as_text =
      "{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.name + c.function.arguments }};{% endfor %}"
      "{% endfor %}";
  CHECK(Rendered(as_text, chat) == "look{\"x\":\"a\"};look{};");
  const char* const nine =
      "{% for m in messages %}{% for c in m.tool_calls %}{% if c.id | length != 9 %}{{ raise_exception('nine') }}"
      "{% endif %}{{ c.id }};{% endfor %}{{ m.tool_call_id if m.role == 'tool' }}{% endfor %}";
  CHECK(Rendered(nine, chat) == "000000000;000000001;000000000000000001");
  // A template that writes only contents finds calls there, in the form that its source tells.
  const char* const granite =
      "{{ 'tools' if false else '<|tool_call|>' if false }}{% for m in messages %}"
      "{{ '[' + m.role + ']' + m.content }}{% endfor %}";
  CHECK(Rendered(granite, chat)
            .find("Well.\n<|tool_call|>[{\"name\": \"look\", \"arguments\": {\"x\":\"a\"}}, {\"name\": "
                  "\"look\", \"arguments\": {}}][tool]one") != std::string::npos);
  const char* const either =
      "{% for message in messages %}{% if message['role'] == 'assistant' and message['content'] is none %}"
      "{{ message.tool_calls | length }}{% else %}{{ message.content }},{% endif %}{% endfor %}";
  CHECK(Rendered(either, chat) == "Go,2one,two,And?,");
  const char* const in_system =
      "{% for m in messages %}{{ m['tools'] if m.role == 'system' }}"
      "{# message['tools'] #}{% endfor %}";
  CHECK(Rendered(in_system, chat) == "[{\"name\":\"look\",\"parameters\":{}}]");
}

TEST_CASE("a template that writes calls but no tools has these in the system's text, with its own form of calls") {
  const char* const deepseek =
      "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% for c in m.tool_calls %}"
      "<\uFF5Ctool\u2581calls\u2581begin\uFF5C>{{ c.function.name }}{% endfor %}{% endfor %}";
  Chat chat = Talk();
  const std::string text = Rendered(deepseek, chat);
  CAPTURE(text);
  CHECK(text.starts_with("[system]You can call tools."));
  CHECK(text.find("{\"name\":\"look\",\"parameters\":{}}\n") != std::string::npos);
  CHECK(text.find("<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>NAME<\uFF5Ctool"
                  "\u2581sep\uFF5C>{...}<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>") !=
        std::string::npos);
  TreeOf(chat.messages).insert(TreeOf(chat.messages).begin(), Json{{"role", "system"}, {"content", "Be brief."}});
  CHECK(Rendered(deepseek, chat).starts_with("[system]Be brief.\n\nYou can call tools."));
  chat.tools = {};
  CHECK(Rendered(deepseek, chat).starts_with("[system]Be brief.[user]Go"));
}

TEST_CASE("thoughts are where templates look for them") {
  Chat chat;
  chat.Add(Role::kUser, "Go");
  chat.Add(Role::kAssistant, "Yes", "Hm");
  const char* const same = "{% for m in messages %}{{ m.reasoning_content }}{% endfor %}";
  CHECK(Rendered(same, chat) == "Hm");
  for (const char* const name : {"thinking", "reasoning"}) {
    const std::string member = std::string("message.") + name;
    CHECK(Rendered(("{% for message in messages %}{{ " + member + " }}{{ message.content }}{% endfor %}").c_str(),
                   chat) == "GoHmYes");
  }
  const char* const block =
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for b in m.content %}"
      "{{ '<' + b.thinking + '>' if b['type'] == 'thinking' else b.text }}{% endfor %}{% endif %}{% endfor %}";
  CHECK(Rendered(block, chat) == "Go<Hm>Yes");
}

TEST_CASE("tools have the names that templates have for them") {
  const char* const smollm = "{% for t in xml_tools %}{{ t.function.name }}{% endfor %}";
  CHECK(Rendered(smollm, Talk()) == "look");
}

}  // namespace tool_text_test
}  // namespace skald::testing
