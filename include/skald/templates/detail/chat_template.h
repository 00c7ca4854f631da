// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/chat_template.h.

#ifndef SKALD_TEMPLATES_DETAIL_CHAT_TEMPLATE_H_
#define SKALD_TEMPLATES_DETAIL_CHAT_TEMPLATE_H_

#include "skald/templates/chat_template.h"

#include <ctime>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/templates/detail/variables.h"
#include "skald/templates/execution/detail/evaluator.h"
#include "skald/templates/execution/detail/interpreter.h"
#include "skald/templates/library/detail/finders.h"
#include "skald/templates/syntax/detail/parser.h"

namespace skald {

namespace internal {

inline bool ToLocalTime(std::time_t time, std::tm& local) {
#ifdef _WIN32
  return localtime_s(&local, &time) == 0;
#else
  return localtime_r(&time, &local) != nullptr;
#endif
}

}  // namespace internal

SKALD_INLINE RenderOptions RenderOptionsNow() {
  std::tm local{};
  RenderOptions options;
  if (internal::ToLocalTime(std::time(nullptr), local)) {
    options.now =
        WallTime{local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec};
  }
  return options;
}

SKALD_INLINE const internal::jinja::Program* ChatTemplate::Find(std::string_view name) const {
  for (const auto& [known, program] : content_->named) {
    if (known == name) return program.get();
  }
  return nullptr;
}

SKALD_INLINE Result<ChatTemplate> ChatTemplate::Make(std::string_view source, ChatTemplateParts parts) {
  return NoThrow("the chat template", [&]() -> Result<ChatTemplate> {
    using internal::jinja::Parser;
    auto content = std::make_shared<Content>();
    const auto parse = [&](std::string_view text) { return Parser::Parse(text, internal::jinja::kFinders); };
    const auto main = parse(source);
    if (!main) return Annotate("the " + parts.name, main);
    content->program = *main;
    for (const auto& [name, text] : parts.named_sources) {
      const auto program = parse(text);
      if (!program) return Annotate("the " + parts.name + " " + Printable(name), program);
      content->named.emplace_back(name, *program);
    }
    content->source = source;
    content->parts = std::move(parts);
    return ChatTemplate(std::move(content));
  });
}

SKALD_INLINE Result<MarkedText> ChatTemplate::Render(const JsonValue& variables, const RenderOptions& options,
                                                     std::string_view name) const {
  return NoThrow("the chat template", [&] { return Render(TemplateVariables{{"", &variables}}, options, name); });
}

SKALD_INLINE Result<MarkedText> ChatTemplate::Render(const TemplateVariables& variables, const RenderOptions& options,
                                                     std::string_view name) const {
  return NoThrow("the chat template", [&]() -> Result<MarkedText> {
    const internal::jinja::Program* const named = Find(name);
    internal::jinja::Machine machine(options.limits, internal::jinja::kFinders);
    machine.now = options.now;
    internal::jinja::Interpreter interpreter(named == nullptr ? *content_->program : *named, machine);
    const auto set = [&](std::string_view variable, const nlohmann::ordered_json& value) {
      interpreter.SetVariable(variable, internal::jinja::ValueOfVariable(machine, variable, value));
    };
    for (const auto& [variable, value] : variables) {
      const nlohmann::ordered_json& tree = TreeOf(*value);
      if (!variable.empty()) {
        set(variable, tree);
      } else if (tree.is_object()) {
        for (auto member = tree.begin(); member != tree.end(); ++member) set(member.key(), member.value());
      }
    }
    MarkedText text = interpreter.Render();
    if (machine.ok()) return text;
    return Fail(machine.error()->code,
                Concat({"the ", content_->parts.name, ", ", Printable(machine.error()->message)}));
  });
}

}  // namespace skald

#endif  // SKALD_TEMPLATES_DETAIL_CHAT_TEMPLATE_H_
