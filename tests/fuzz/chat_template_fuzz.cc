// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes chat templates: the input is a template's source, which is parsed and rendered with a few chats. A rendering
// must keep to its limits, and a template's own letters must be the only ones that count as its own.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "skald/base/json/json_value_tree.h"
#include "skald/templates/chat_template.h"

namespace skald {
namespace {

using Json = nlohmann::ordered_json;

void Require(bool holds) {
  if (!holds) std::abort();
}

// Without a chat, with one, and with tools and values of all types. Text of messages is written in letters that
// templates hardly use.
const Json& Chats() {
  static const Json chats = Json::parse(R"([
    {},
    {"messages": [{"role": "user", "content": " \u4e00 "}, {"role": "assistant", "content": "\u4e00\n"}],
     "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "tools": null},
    {"messages": [{"role": "tool", "content": [{"type": "text", "text": "\u4e00<b>"}], "tool_calls": []}],
     "tools": [{"type": "function", "function": {"name": "f", "parameters": {"n": 18446744073709551615, "x": 1e-5}}}],
     "documents": [], "enable_thinking": false}])");
  return chats;
}

void Render(std::string_view source) {
  const Result<ChatTemplate> chat_template = ChatTemplate::Parse(source);
  if (!chat_template) return Require(!chat_template.error().message.empty());
  RenderOptions options;
  options.now = WallTime{2025, 12, 31, 23, 59, 58};
  options.limits = {.steps = 20'000, .depth = 200, .output_bytes = 100'000, .memory_bytes = 10'000'000};
  const bool writes_the_letter = source.find("\xE4\xB8\x80") != source.npos || source.find('\\') != source.npos;
  for (const Json& chat : Chats()) {
    const Result<MarkedText> text = chat_template->Render(JsonValueOf(chat), options);
    if (!text) {
      Require(!text.error().message.empty());
      continue;
    }
    Require(text->size() <= options.limits.output_bytes);
    const size_t letter = text->text().find("\xE4\xB8\x80");
    if (letter != std::string::npos && !writes_the_letter) Require(text->AuthorAt(letter) == Author::kMessage);
  }
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::Render({reinterpret_cast<const char*>(data), size});
  return 0;
}
